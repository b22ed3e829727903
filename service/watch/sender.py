"""Sends what is due: to one host one message after the other, to several at the same time.

Any number of senders may look at once.
"""

from datetime import datetime
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from service.reports import messages
from service.reports.addresses import Resolve, resolve
from service.settings import Settings
from service.store import deliveries, webhooks
from service.store.clock import db_time
from service.store.deliveries import Delivery
from service.store.engine import Sessions
from service.store.states import WebhookKind
from service.store.webhooks import Webhook
from service.telemetry import get_logger
from service.watch import mail, web
from service.watch.outcome import DeliveryError
from service.watch.signing import signed_headers

MOST_AT_ONCE: Final = 16
"""Hosts."""
LOOK_EVERY_S: Final = 0.5
"""Also while a host takes its time."""

log = get_logger(__name__)


class Sender:
    """A message is taken in one transaction, sent in none, settled in another."""

    def __init__(
        self, sessions: Sessions, settings: Settings, *, lookup: Resolve = resolve
    ) -> None:
        self._sessions = sessions
        self._settings = settings
        self._lookup = lookup
        self._spoken_to: set[str] = set()
        """Hosts that a message is on its way to."""
        self._over: SimpleQueue[str] = SimpleQueue()

    def look(self) -> int:
        """Send everything that is due; return how many attempts it took."""
        count = 0
        while True:
            while self._begin_next():
                count += 1
            if not self._spoken_to:
                return count
            try:
                self._spoken_to.discard(self._over.get(timeout=LOOK_EVERY_S))
            except Empty:
                continue

    def _begin_next(self) -> bool:
        """Begin with the oldest of a host that is not being spoken to, if there is one."""
        if len(self._spoken_to) >= MOST_AT_ONCE:
            return False
        try:
            with self._sessions.writing() as session:
                busy = [
                    one.id for one in webhooks.list_all(session) if _host(one) in self._spoken_to
                ]
                delivery = deliveries.take(session, besides=busy)
                if delivery is None:
                    return False
                webhook, now = webhooks.find(session, delivery.webhook_id), db_time(session)
            body = delivery.body or self._compose(delivery, webhook)
        except SQLAlchemyError as error:
            _log_unsent(error)
            return False
        if body is not None:
            self._spoken_to.add(_host(webhook))
            Thread(target=self._finish, args=(webhook, delivery, body, now), daemon=True).start()
        return True

    def _compose(self, delivery: Delivery, webhook: Webhook) -> str | None:
        """What is sent, at this attempt and later ones; None where it cannot be said.

        That is a failed attempt of this message, and keeps no other waiting.
        """
        try:
            with self._sessions.writing() as session:
                body = messages.compose(session, delivery, webhook, sender=self._settings.smtp_from)
                deliveries.keep_body(session, delivery.id, body)
        except SQLAlchemyError:
            raise
        except Exception as error:
            log.exception("message_not_composed", delivery_id=delivery.id)
            self._settle(delivery, f"the message could not be composed: {type(error).__name__}")
            return None
        return body

    def _finish(self, webhook: Webhook, delivery: Delivery, body: str, now: datetime) -> None:
        try:
            self._settle(delivery, self._send(webhook, delivery.id, body, now))
        except SQLAlchemyError as error:
            _log_unsent(error)
        finally:
            self._over.put(_host(webhook))

    def _send(self, webhook: Webhook, delivery_id: str, body: str, now: datetime) -> str | None:
        """What went wrong; None where nothing did."""
        try:
            if webhook.kind is WebhookKind.EMAIL:
                url = self._settings.smtp_url.get_secret_value()
                mail.send(url, body, sender=self._settings.smtp_from, to=webhook.target)
                return None
            content, headers = body.encode(), {"Content-Type": "application/json"}
            if webhook.secret is not None:
                headers |= signed_headers(webhook.secret, delivery_id, now, content)
            networks = self._settings.webhook_networks
            web.post(webhook.target, content, headers, networks=networks, lookup=self._lookup)
        except DeliveryError as failure:
            return str(failure)
        except Exception as error:
            log.exception("message_not_sent", delivery_id=delivery_id, webhook_id=webhook.id)
            return f"the message could not be sent: {type(error).__name__}"
        return None

    def _settle(self, delivery: Delivery, error: str | None) -> None:
        with self._sessions.writing() as session:
            state = deliveries.settle(session, delivery, error=error)
        log.info(
            "message_attempted",
            delivery_id=delivery.id,
            webhook_id=delivery.webhook_id,
            attempt=delivery.num_attempts,
            state=state,
            error=error,
        )


def _host(webhook: Webhook) -> str:
    """What is spoken to; of e-mail it is one server for all."""
    if webhook.kind is WebhookKind.EMAIL:
        return ""
    return urlsplit(webhook.target).netloc.lower()


def _log_unsent(error: SQLAlchemyError) -> None:
    log.warning("messages_not_sent", error=str(getattr(error, "orig", error)))
