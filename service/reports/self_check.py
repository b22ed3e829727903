"""A/A controls: how often the instrument calls a point different from itself, and to which side."""

from datetime import datetime

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.pairs import DEFAULT_PAIR_TOLERANCE
from service.analysis.self_check import SamePair, SelfCheck, check
from service.reports import pairs
from service.store import same_pairs, sweeps
from service.store.result_filter import ResultFilter
from service.store.results import measured
from workers.contract.frozen import Frozen

MOST_SWEEPS = 400
MOST_SHOWN = 100


class ControlNight(Frozen):
    """One sweep of points measured by turns with themselves."""

    sweep_id: str
    created_at: datetime
    num_pairs: int
    num_alarms: int
    largest_change: float = Field(description="Of a pair's ratio from 1, either way.")


class SelfCheckReport(Frozen):
    """What the instrument says where nothing differs."""

    schedule: str | None = Field(description="Whose A/A control; null: all pairs of equal points.")
    tolerance: float
    num_sweeps: int
    num_pairs: int = Field(description="Of at least two groups; with one nothing can be called.")
    num_alarms: int = Field(description="Pairs that were called faster or slower.")
    num_slower: int = Field(description="Of the alarms.")
    rate: float | None = Field(description="Alarms over pairs; null without any.")
    rate_ci_low: float | None = Field(description="95 % interval (Clopper-Pearson).")
    rate_ci_high: float | None
    promised_rate: float = Field(description="At most this share is promised to be false.")
    is_kept: bool | None = Field(description="False where the rate is surely above the promise.")
    share_slower: float | None = Field(
        description="Pairs whose second point took longer: about a half where turns are equal."
    )
    p_one_sided: float | None = Field(description="Two-sided sign test of that.")
    is_one_sided: bool | None
    nights: tuple[ControlNight, ...] = Field(description=f"Newest first, at most {MOST_SHOWN}.")
    sentence: str


def find(
    session: Session,
    *,
    schedule: str | None = None,
    since: datetime | None = None,
    tolerance: float = DEFAULT_PAIR_TOLERANCE,
) -> SelfCheckReport:
    """Judge the newest stored pairs of a point with itself, each sweep as it is judged alone."""
    ids = same_pairs.sweep_ids(session, schedule=schedule, since=since, limit=MOST_SWEEPS)
    found = {one.id: one for one in sweeps.find_all(session, ids)}
    judged: list[SamePair] = []
    nights: list[ControlNight] = []
    for sweep_id in ids:
        own = _judge(session, sweep_id, tolerance=tolerance)
        judged += own
        alone = check(own)
        nights.append(
            ControlNight(
                sweep_id=sweep_id,
                created_at=found[sweep_id].created_at,
                num_pairs=alone.num_pairs,
                num_alarms=alone.num_alarms,
                largest_change=max((abs(pair.ratio - 1) for pair in own), default=0.0),
            )
        )
    return _report(check(judged), schedule=schedule, tolerance=tolerance, nights=nights)


def _judge(session: Session, sweep_id: str, *, tolerance: float) -> list[SamePair]:
    trials = measured(session, ResultFilter(sweep_ids=(sweep_id,)))
    report = pairs.report(trials, sweep_id=sweep_id, pair=None, tolerance=tolerance)
    return [
        SamePair(ratio=one.parts[0].ratio, verdict=one.verdict, num_groups=one.num_groups)
        for one in report.pairs
        if one.first.spec == one.second.spec
    ]


def _report(
    found: SelfCheck, *, schedule: str | None, tolerance: float, nights: list[ControlNight]
) -> SelfCheckReport:
    return SelfCheckReport(
        schedule=schedule,
        tolerance=tolerance,
        num_sweeps=len(nights),
        num_pairs=found.num_pairs,
        num_alarms=found.num_alarms,
        num_slower=found.num_slower,
        rate=found.rate,
        rate_ci_low=found.rate_low,
        rate_ci_high=found.rate_high,
        promised_rate=found.promised,
        is_kept=found.is_kept,
        share_slower=found.share_slower,
        p_one_sided=found.p_one_sided,
        is_one_sided=found.is_one_sided,
        nights=tuple(nights[:MOST_SHOWN]),
        sentence=_sentence(found),
    )


def _sentence(found: SelfCheck) -> str:
    if found.rate is None or found.rate_low is None or found.rate_high is None:
        return "no pair of a point with itself was measured in two groups yet: cannot tell"
    kept = "as promised" if found.is_kept else "more than promised"
    told = (
        f"{found.num_alarms} of {found.num_pairs} pairs of a point with itself were called "
        f"different, {found.rate:.1%} ({found.rate_low:.1%} to {found.rate_high:.1%}); at most "
        f"{found.promised:.0%} should be: {kept}"
    )
    if found.share_slower is None or found.p_one_sided is None:
        return told
    lean = "one-sided" if found.is_one_sided else "no side is favoured"
    return (
        f"{told}; the second took longer in {found.share_slower:.0%} (p {found.p_one_sided:.2g}): "
        f"{lean}"
    )
