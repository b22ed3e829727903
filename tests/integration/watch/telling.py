"""Places where findings are told, a sender that reaches them, and what arrived."""

import base64
import hmac
import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from service.reports.addresses import Resolve
from service.settings import Settings
from service.store import deliveries, webhooks
from service.store.deliveries import Delivery
from service.store.engine import Sessions
from service.store.states import Announcement, WebhookKind
from service.store.webhooks import Webhook
from service.watch.sender import Sender
from tests.unit.cli.fake_server import FakeServer, Received

HOOK = "POST /hooks/s3cr3t"
ALL = (Announcement.SUSPECT, Announcement.CONFIRMED, Announcement.RECOVERED)


def lookup(host: str, port: int) -> Sequence[str]:
    del host, port
    return ["127.0.0.1"]


def sender(
    sessions: Sessions, home: Path, *, smtp_url: str = "", names: Resolve = lookup
) -> Sender:
    settings = Settings.model_validate(
        {"home": home, "webhook_networks": "127.0.0.0/8", "smtp_url": smtp_url}
    )
    return Sender(sessions, settings, lookup=names)


def place(
    sessions: Sessions,
    receiver: FakeServer | None,
    *,
    kind: WebhookKind = WebhookKind.WEBHOOK,
    events: tuple[Announcement, ...] = ALL,
    policy: str | None = None,
    name: str = "ops",
    host: str = "hooks.example",
) -> Webhook:
    target = "alice@example.org"
    if receiver is not None:
        target = f"http://{host}:{urlsplit(receiver.url).port}/hooks/s3cr3t"
    with sessions.writing() as session:
        return webhooks.create(
            session,
            name,
            kind=kind,
            target=target,
            events=events,
            policy=policy,
            created_by="alice",
        )


def told(receiver: FakeServer) -> list[str]:
    return [json.loads(got.body)["type"] for got in receiver.calls(HOOK)]


def is_signed(got: Received, secret: str) -> bool:
    """As a receiver checks it, over the bytes that came."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    headers = {name.lower(): value for name, value in got.headers.items()}
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + got.body
    expected = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return headers["webhook-signature"] == f"v1,{expected}"


def only(sessions: Sessions, webhook: Webhook) -> Delivery:
    with sessions.reading() as session:
        (found,) = deliveries.page(session, webhook.id, limit=9).items
    return found
