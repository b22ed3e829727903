"""Faults of a fleet are named, and equally on both databases."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from service.analysis.findings.classify import Cause
from service.analysis.findings.evidence import OF_A_NODE, FindingKind
from service.analysis.findings.states import FindingState
from service.store.engine import Sessions, create_engine
from service.store.findings import StoredFinding
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode
from tests.unit.analysis.findings import synthetic_fleet as truth
from tests.unit.analysis.findings.synthetic_fleet import planted

FIRST_NIGHT = 10
SOME_NODES = slice(4, 21)
"""Of the synthetic fleet: all that have a fault, and some that have none."""


def test_a_fleets_faults_are_named_and_bit_equal_on_both_databases(
    sqlite_url: str, postgresql_url: str
) -> None:
    told = [judged_fleet(url) for url in (sqlite_url, postgresql_url)]
    assert told[0] == told[1]
    of_kind = {kind: [one for one in told[0] if one.kind is kind] for kind in FindingKind}
    (flaky,), (missing,) = of_kind[FindingKind.FLAKY], of_kind[FindingKind.MISSING]
    assert (flaky.nodes, missing.nodes) == ((truth.FLAKY,), (truth.MISSING,))
    assert missing.night_sweep_id == str(truth.MISSING_FROM - FIRST_NIGHT)
    by_cause = {
        cause: [one for one in told[0] if one.cause is cause and one.kind not in OF_A_NODE]
        for cause in Cause
    }
    (slow,), (link,) = by_cause[Cause.NODE], by_cause[Cause.LINK]
    assert (slow.nodes, link.nodes) == ((truth.SLOW,), (truth.BAD_LINK,))
    (code,), (rollout,) = by_cause[Cause.CODE], by_cause[Cause.ROLL_OUT]
    assert len(code.cases) == 1
    assert len(code.nodes) >= 16
    assert (rollout.covariate, set(rollout.nodes) <= set(truth.UPDATED)) == (
        "driver 580.1",
        True,
    )
    confirmed = [one for one in told[0] if one.state is FindingState.CONFIRMED]
    assert sum(one.cause is Cause.UNEXPLAINED for one in confirmed) <= 3
    assert by_cause[Cause.METHOD] == []


def judged_fleet(url: str) -> list[StoredFinding]:
    """Fifty nights of 17 nodes in a database, the last one judged; ids and times left out."""
    engine = create_engine(url)
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    fleet = planted(seed=1)
    made = Nights(
        Sessions(engine, clock=clock),
        clock,
        num_cases=9,
        communicating=frozenset((6, 7, 8)),
    )
    for number in range(FIRST_NIGHT, truth.NIGHTS):
        if number == truth.NIGHTS - 1:
            made.schedule()
        made.measure(
            {
                name: OfNode(
                    times[1:, number],
                    times[0, number],
                    "580.1" if name in truth.UPDATED and number >= truth.UPDATED_FROM else "570.0",
                )
                for name, times in list(zip(truth.NODES, fleet.times, strict=True))[SOME_NODES]
                if not np.isnan(times[0, number])
            }
        )
    made.judge()
    number_of = {sweep_id: str(number) for number, sweep_id in enumerate(made.sweep_ids)}
    found = [
        replace(
            one,
            id="",
            night_sweep_id=number_of[one.night_sweep_id],
            last_good_sweep_id=number_of[one.last_good_sweep_id or ""],
            judged_sweep_id=number_of[one.judged_sweep_id],
        )
        for one in made.findings()
    ]
    engine.dispose()
    return sorted(found, key=lambda one: (one.night_sweep_id, one.cause, one.nodes, one.cases))
