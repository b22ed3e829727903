"""A place where findings are to be told: checked, then kept."""

import re
from typing import Annotated, Final, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from service.analysis.schedules.spec import Name
from service.errors import FieldError, InvalidRequestError
from service.reports import webhooks as reports
from service.reports.addresses import AddressError, UnresolvedError, reachable
from service.reports.webhooks import CreatedWebhookReport
from service.settings import Settings
from service.store import webhooks
from service.store.engine import Sessions
from service.store.states import Announcement, WebhookKind
from workers.contract.frozen import Frozen, Label

LARGEST_TARGET: Final = 2000
MAIL_ADDRESS: Final = re.compile(r"[^@\s<>,;:\"\\]{1,64}@[^@\s<>,;:\"\\]{1,190}")
USUAL: Final = (Announcement.CONFIRMED, Announcement.RECOVERED)

Event = Literal[Announcement.SUSPECT, Announcement.CONFIRMED, Announcement.RECOVERED]
Target = Annotated[
    str,
    StringConstraints(min_length=3, max_length=LARGEST_TARGET, pattern=r"^[\x21-\x7e]+$"),
    Field(description="A URL, https unless it is internal; a mail address for `email`."),
]


class WebhookRequest(Frozen):
    """A place, and what it wants to know."""

    name: Name
    kind: WebhookKind = WebhookKind.WEBHOOK
    target: Target
    events: Annotated[tuple[Event, ...], Field(min_length=1, max_length=4)] = Field(
        default=USUAL,
        description="Of findings: when they are suspect, confirmed, recovered. Who is told that "
        "one is confirmed is also told when it is withdrawn.",
    )
    policy: Label | None = Field(
        default=None, description="Only findings of this schedule; without, of all."
    )

    @field_validator("target")
    @classmethod
    def _fits_the_kind(cls, target: str, info: ValidationInfo) -> str:
        if info.data.get("kind") is WebhookKind.EMAIL:
            if not MAIL_ADDRESS.fullmatch(target):
                raise ValueError("the target of an email is one address, name@host")
            return target
        parts, is_whole = _parts(target)
        if parts.scheme not in {"https", "http"} or not is_whole:
            raise ValueError("the target is a URL that begins with https:// and names a host")
        if parts.username is not None or parts.fragment:
            raise ValueError("the target has no user, password or fragment in it")
        return target


def create(
    sessions: Sessions, settings: Settings, asked: WebhookRequest, *, created_by: str
) -> CreatedWebhookReport:
    """Keep it. InvalidRequestError where no message could ever go there."""
    warning = _warning(settings, asked)
    with sessions.writing() as session:
        webhook = webhooks.create(
            session,
            asked.name,
            kind=asked.kind,
            target=asked.target,
            events=asked.events,
            policy=asked.policy,
            created_by=created_by,
        )
    return reports.created(webhook, warning=warning)


def _warning(settings: Settings, asked: WebhookRequest) -> str:
    """What is wrong for now; what will not pass is refused."""
    if asked.kind is WebhookKind.EMAIL:
        if not settings.smtp_url.get_secret_value():
            raise _wrong("kind", "no mail server is set; TPSWEEP_SMTP_URL names one")
        return ""
    try:
        reachable(asked.target, networks=settings.webhook_networks)
    except UnresolvedError as error:
        return f"{error} here and now; a message is tried for two days"
    except AddressError as error:
        raise _wrong("target", str(error)) from None
    return ""


def _parts(target: str) -> tuple[SplitResult, bool]:
    """Of a URL, and whether there is a host and a port that can be."""
    try:
        parts = urlsplit(target)
        return parts, bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError("the target is not a URL: its host or port cannot be read") from None


def _wrong(name: str, detail: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"/{name}: {detail}", errors=(FieldError(pointer=f"/{name}", detail=detail),)
    )
