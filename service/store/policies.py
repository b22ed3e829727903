"""How good the judgements of each schedule were, by what became of its findings."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.analysis.findings.evidence import OF_A_NODE
from service.analysis.findings.states import MISTAKES, Dismissal, FindingState
from service.store.models.finding import FindingRow, JudgementRow


@dataclass(frozen=True, slots=True)
class Policy:
    """The judgements of one schedule, whether it is still there or not."""

    name: str
    num_nights: int
    """Sweeps judged, re-runs too."""
    num_series: int
    """Series judged, added up over nights."""
    num_findings: int
    num_confirmed: int
    """Findings that were confirmed at some time."""
    num_directed: int
    """Of the confirmed, those that could have been for the better."""
    num_slower: int
    """Of those; on nights of equal software about half."""
    dismissed: dict[Dismissal, int]
    num_true: int
    """Confirmed, and then acknowledged, fixed, recovered or dismissed as the hardware's."""
    num_mistaken: int
    """Confirmed, and then dismissed as none, or withdrawn."""


def policies(session: Session) -> list[Policy]:
    """Of every schedule that was judged, by name."""
    judged = session.execute(
        select(
            JudgementRow.policy,
            func.count().label("num_nights"),
            func.sum(JudgementRow.num_series).label("num_series"),
        )
        .group_by(JudgementRow.policy)
        .order_by(JudgementRow.policy)
    )
    return [
        _policy(session, row.policy, num_nights=row.num_nights, num_series=int(row.num_series))
        for row in judged.all()
    ]


def _policy(session: Session, name: str, *, num_nights: int, num_series: int) -> Policy:
    rows = session.execute(
        select(
            FindingRow.state,
            FindingRow.dismissal,
            FindingRow.confirmed_at,
            FindingRow.effect_relative,
            FindingRow.kind,
        ).where(FindingRow.policy == name)
    ).all()
    whole = [row for row in rows if row.dismissal is not Dismissal.MERGED]
    confirmed = [row for row in whole if row.confirmed_at is not None]
    directed = [row for row in confirmed if row.kind not in OF_A_NODE]
    reasons = Counter(row.dismissal for row in rows if row.dismissal is not None)
    mistaken = sum(row.dismissal in MISTAKES for row in confirmed)
    undecided = sum(row.state is FindingState.CONFIRMED for row in confirmed)
    return Policy(
        name=name,
        num_nights=num_nights,
        num_series=num_series,
        num_findings=len(whole),
        num_confirmed=len(confirmed),
        num_directed=len(directed),
        num_slower=sum(row.effect_relative > 0 for row in directed),
        dismissed={reason: reasons[reason] for reason in Dismissal},
        num_true=len(confirmed) - mistaken - undecided,
        num_mistaken=mistaken,
    )
