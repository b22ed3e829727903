"""Sends what is due, one message after the other; any number of senders may look at once."""

from datetime import datetime

from sqlalchemy.exc import SQLAlchemyError

from service.reports import messages
from service.settings import Settings
from service.store import deliveries, webhooks
from service.store.clock import db_time
from service.store.deliveries import Delivery
from service.store.engine import Sessions
from service.store.states import WebhookKind
from service.store.webhooks import Webhook
from service.telemetry import get_logger
from service.watch import mail, web
from service.watch.addresses import Resolve, resolve
from service.watch.outcome import DeliveryError
from service.watch.signing import signed_headers

log = get_logger(__name__)


class Sender:
    """A message is taken in one transaction, sent in none, settled in another."""

    def __init__(
        self, sessions: Sessions, settings: Settings, *, lookup: Resolve = resolve
    ) -> None:
        self._sessions = sessions
        self._settings = settings
        self._lookup = lookup

    def look(self) -> int:
        """Send everything that is due; return how many attempts it took."""
        count = 0
        try:
            while self._send_next():
                count += 1
        except SQLAlchemyError as error:
            log.warning("messages_not_sent", error=str(getattr(error, "orig", error)))
        return count

    def _send_next(self) -> bool:
        with self._sessions.writing() as session:
            delivery = deliveries.take(session)
            if delivery is None:
                return False
            webhook, now = webhooks.find(session, delivery.webhook_id), db_time(session)
            body = delivery.body or messages.compose(
                session, delivery, webhook, sender=self._settings.smtp_from
            )
            deliveries.keep_body(session, delivery.id, body)
        try:
            self._send(webhook, delivery.id, body, now)
        except DeliveryError as failure:
            self._settle(delivery, str(failure))
        else:
            self._settle(delivery, None)
        return True

    def _send(self, webhook: Webhook, delivery_id: str, body: str, now: datetime) -> None:
        if webhook.kind is WebhookKind.EMAIL:
            url, sender = self._settings.smtp_url.get_secret_value(), self._settings.smtp_from
            mail.send(url, body, sender=sender, to=webhook.target)
            return
        content, headers = body.encode(), {"Content-Type": "application/json"}
        if webhook.secret is not None:
            headers |= signed_headers(webhook.secret, delivery_id, now, content)
        networks = self._settings.webhook_networks
        web.post(webhook.target, content, headers, networks=networks, lookup=self._lookup)

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
