"""What the judgements of each schedule are worth, as its findings turned out."""

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.changepoints.parameters import DETECTOR_VERSION
from service.analysis.findings.states import Dismissal
from service.store.policies import Policy, policies
from workers.contract.frozen import Frozen


class PolicyReport(Frozen):
    """The findings of one schedule, counted by what became of them."""

    policy: str = Field(description="Name of the schedule.")
    detector_version: int = Field(description="Of the detector that judges now.")
    num_nights: int = Field(description="Sweeps that were judged, re-runs too.")
    num_series_nights: int = Field(description="Series judged, added up over nights.")
    num_findings: int
    num_confirmed: int
    dismissed: dict[Dismissal, int]
    num_decided: int = Field(
        description="Confirmed findings that turned out: acknowledged, fixed, recovered, dismissed."
    )
    precision: float | None = Field(description="Of those, the true ones; null before the first.")
    mistaken_per_100_series_nights: float | None
    share_slower: float | None = Field(
        description="Of the confirmed that have a direction. Nights of equal software make about "
        "as many faster as slower: a schedule that measures the same again and again shows "
        "whether the policy leans."
    )


def list_all(session: Session) -> tuple[PolicyReport, ...]:
    """Of every schedule that was judged, by name."""
    return tuple(_report(one) for one in policies(session))


def _report(policy: Policy) -> PolicyReport:
    decided = policy.num_true + policy.num_mistaken
    return PolicyReport(
        policy=policy.name,
        detector_version=DETECTOR_VERSION,
        num_nights=policy.num_nights,
        num_series_nights=policy.num_series,
        num_findings=policy.num_findings,
        num_confirmed=policy.num_confirmed,
        dismissed=policy.dismissed,
        num_decided=decided,
        precision=policy.num_true / decided if decided else None,
        mistaken_per_100_series_nights=100 * policy.num_mistaken / policy.num_series
        if policy.num_series
        else None,
        share_slower=policy.num_slower / policy.num_directed if policy.num_directed else None,
    )
