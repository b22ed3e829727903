"""What is sent about a finding: one message, in the form that each kind of place takes."""

import json
from datetime import datetime
from email.message import EmailMessage
from typing import assert_never

from pydantic import JsonValue
from sqlalchemy.orm import Session

from service.figures import signed_percent
from service.reports import findings as reports
from service.reports.finding import FindingDetail
from service.store.deliveries import Delivery
from service.store.states import Announcement, WebhookKind
from service.store.webhooks import Webhook

SENDER = "tpsweep"
TEST_TEXT = "This is a test: messages about findings arrive here."
TAKEN_BACK = "This is taken back: with later nights known the detector no longer finds it."
_SLACK = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def compose(session: Session, delivery: Delivery, webhook: Webhook, *, sender: str) -> str:
    """Write the body, as text: JSON, or a whole e-mail from `sender`."""
    finding = None
    if delivery.finding_id is not None:
        finding = reports.find(session, delivery.finding_id)
    title, lines = _words(delivery.announcement, finding)
    match webhook.kind:
        case WebhookKind.WEBHOOK:
            return _signed_payload(delivery.announcement, finding, at=delivery.created_at)
        case WebhookKind.SLACK:
            return _slack_payload(title, lines)
        case WebhookKind.EMAIL:
            return _mail(title, lines, delivery, to=webhook.target, sender=sender)
        case _:
            assert_never(webhook.kind)


def _signed_payload(
    announcement: Announcement, finding: FindingDetail | None, *, at: datetime
) -> str:
    """As Standard Webhooks recommends: type, timestamp, data."""
    data: JsonValue = {"text": TEST_TEXT} if finding is None else finding.model_dump(mode="json")
    kind = "test" if finding is None else f"finding.{announcement.value}"
    return json.dumps({"type": kind, "timestamp": at.isoformat(), "data": data}, allow_nan=False)


def _slack_payload(title: str, lines: list[str]) -> str:
    text = "\n".join([f"*{title.translate(_SLACK)}*", *(line.translate(_SLACK) for line in lines)])
    return json.dumps({"text": text})


def _mail(title: str, lines: list[str], delivery: Delivery, *, to: str, sender: str) -> str:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, to, _one_line(f"[{SENDER}] {title}")
    mail["Date"] = delivery.created_at
    mail["Message-ID"] = f"<{delivery.id}@{SENDER}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n".join(lines) + "\n")
    return mail.as_string()


def _words(announcement: Announcement, finding: FindingDetail | None) -> tuple[str, list[str]]:
    """A title, and what there is to say."""
    if finding is None:
        return "test", [TEST_TEXT]
    title = f"{finding.policy}: {announcement.value}: {finding.sentence.partition(';')[0]}"
    if announcement is Announcement.WITHDRAWN:
        return title, [TAKEN_BACK, f"What was told: {finding.sentence}", f"Finding {finding.id}"]
    return title, _account(finding)


def _account(finding: FindingDetail) -> list[str]:
    """What, how sure, where, why, last good, how to see it again."""
    p = "" if finding.smallest_p is None else f", smallest p {finding.smallest_p:.1g}"
    left = ""
    if finding.normalised_effect is not None:
        left = f", {signed_percent(finding.normalised_effect)} without the host's own slowness"
    night = finding.night
    judge = f"{finding.detector} version {finding.detector_version}"
    lines = [
        finding.sentence,
        f"How sure: {finding.num_confirmed} of {finding.num_series} series{p}{left} ({judge})",
        f"Where: {', '.join(finding.nodes)}; {', '.join(one.label for one in finding.cases)}",
        f"Since: {night.at:%Y-%m-%d %H:%M} UTC, sweep {night.sweep_id}",
    ]
    if finding.last_good is not None:
        good = finding.last_good
        lines.append(f"Last good: {good.at:%Y-%m-%d %H:%M} UTC, sweep {good.sweep_id}")
    lines += [
        f"Different since then: {one.field}: {', '.join(one.baseline) or '-'} -> "
        f"{', '.join(one.candidate) or '-'}"
        for one in finding.differences
    ]
    return [*lines, f"Measure it again: {finding.reproduce}", f"Finding {finding.id}"]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
