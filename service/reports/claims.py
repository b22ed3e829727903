"""The two articles' claims, each with our figure, what was measured here, and a verdict."""

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.claims.claim import Claim, Verdict
from service.analysis.claims.computed import computed_claims
from service.reports.claim_facts import facts
from service.store import curves, results
from service.store.result_filter import ResultFilter
from workers.contract.sweep import SweepSpec

MOST_POINTS = 150
NOT_YET = "not measured here yet"
MEASURED_TOO = frozenset({1, 2, 3, 4, 8, 12, 13, 28})
"""Claims that arithmetic decides and a real step has to confirm."""


class ClaimReport(Claim):
    """One claim."""

    measured: str | None = Field(
        description=f"What the newest {MOST_POINTS} measured points and all imported curves say; "
        "null where arithmetic alone decides."
    )
    sweep: SweepSpec | None = Field(
        description="What would measure it here; null where nothing is open, or no sweep could."
    )


def report(session: Session) -> tuple[ClaimReport, ...]:
    """All claims in their order."""
    newest = results.page(session, ResultFilter(), limit=MOST_POINTS)
    trials = [trial for point in newest.items for trial in point.trials]
    found = facts(trials, curves.list_all(session))
    return tuple(_one(claim, found.get(claim.number)) for claim in computed_claims())


def _one(claim: Claim, measured: str | None) -> ClaimReport:
    wants = claim.verdict is Verdict.DEPENDS or claim.number in MEASURED_TOO
    said = measured if measured is not None or not wants else NOT_YET
    sweep = claim.measured_by if said == NOT_YET else None
    return ClaimReport(**dict(claim), measured=said, sweep=sweep)
