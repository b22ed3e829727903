"""Findings on both databases: what nights show is judged once, grouped, and followed to its end."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import pytest

from service.analysis.findings.classify import Cause
from service.analysis.findings.states import Dismissal, FindingState
from service.analysis.schedules.tags import RERUN_OF
from service.errors import ConflictError, NotFoundError
from service.reports import bridges
from service.store import findings, sweeps
from service.store.engine import Sessions
from service.store.findings import FindingFilter, StoredFinding
from tests.integration.store.builders import FakeClock
from tests.integration.store.locks import is_anyone_waiting
from tests.integration.store.nights import POLICY, Nights, OfNode
from tests.unit.analysis.trials import HARDWARE
from tests.waiting import wait_until

CONTROL_US = 50.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))


@pytest.fixture
def nights(timed: Sessions, clock: FakeClock) -> Nights:
    """Twenty quiet nights of two cases on one node, then a schedule."""
    made = Nights(timed, clock, num_cases=2)
    for _ in range(20):
        night(made)
    made.schedule()
    return made


def night(nights: Nights, slower: float = 1.0, *, control: float = 1.0) -> str:
    """Steps of 100 and 200 us, noise of half a percent, all by the number of the night."""
    rng = np.random.default_rng(len(nights.sweep_ids))
    first, second, host = 1 + 0.005 * rng.standard_normal(3)
    steps = (100 * first * slower, 200 * second * slower)
    return nights.measure({"a": OfNode(steps, CONTROL_US * host * control)})


def only(nights: Nights) -> StoredFinding:
    (found,) = nights.findings()
    return found


def states(nights: Nights, finding_id: str) -> list[str]:
    with nights.sessions.reading() as session:
        return [one.state.value for one in findings.changes(session, finding_id)]


def test_quiet_nights_are_judged_once_and_find_nothing(nights: Nights) -> None:
    assert nights.judge() == []
    night(nights)
    (judged,) = nights.judge()
    assert (judged.num_nights, judged.num_series, judged.moved) == (21, 3, ())
    assert nights.judge() == []
    assert nights.findings() == []


def test_a_slow_down_is_suspected_confirmed_and_seen_to_recover(nights: Nights) -> None:
    good = nights.sweep_ids[-1]
    bad = night(nights, 1.06)
    nights.judge()
    found = only(nights)
    assert (found.state, found.cause) == (FindingState.SUSPECT, Cause.CODE)
    assert (found.night_sweep_id, found.last_good_sweep_id) == (bad, good)
    assert len(found.cases) == 2
    for _ in range(7):
        night(nights, 1.06)
        nights.judge()
    found = only(nights)
    assert found.state is FindingState.CONFIRMED
    assert found.effect_relative == pytest.approx(0.06, abs=0.01)
    assert (found.night_sweep_id, found.last_good_sweep_id) == (bad, good)
    assert all(one.p is not None and one.p < 1e-3 for one in found.members)
    for _ in range(8):
        night(nights)
        nights.judge()
    assert states(nights, only(nights).id) == ["suspect", "confirmed", "recovered"]


def test_a_slow_down_of_a_few_nights_recovers_and_is_not_withdrawn(nights: Nights) -> None:
    for slower in (*[2.0] * 4, *[1.0] * 5):
        night(nights, slower)
    nights.judge()
    assert states(nights, only(nights).id) == ["suspect", "confirmed", "recovered"]


def test_what_the_control_shows_too_is_the_hosts(nights: Nights) -> None:
    for _ in range(8):
        night(nights, 1.06, control=1.06)
        nights.judge()
    found = only(nights)
    assert (found.state, found.cause) == (FindingState.CONFIRMED, Cause.NODE)
    assert found.normalised_effect == pytest.approx(0, abs=0.02)


def test_a_swap_of_hardware_begins_a_new_series_with_a_bridge_and_no_finding(
    nights: Nights,
) -> None:
    last, old = nights.sweep_ids[-1], nights.hardware
    nights.hardware = old.model_copy(update={"accelerator": "Faster CPU"})
    first = night(nights, 0.5)
    for _ in range(4):
        night(nights, 0.5)
    nights.judge()
    assert nights.findings() == []
    with nights.sessions.reading() as session:
        (bridge,) = bridges.list_all(session, POLICY)
    assert (bridge.before, bridge.after) == (old, nights.hardware)
    assert (bridge.last.sweep_id, bridge.first.sweep_id) == (last, first)
    assert bridge.overall is not None
    assert bridge.overall.ratio == pytest.approx(0.5, rel=0.02)
    assert bridge.sentence.startswith("from Test CPU to Faster CPU: faster")


def test_one_wild_night_is_a_suspicion_that_fades(nights: Nights) -> None:
    night(nights, 1.2)
    nights.judge()
    night(nights)
    nights.judge()
    assert states(nights, only(nights).id) == ["suspect", "recovered"]


def test_suspects_are_measured_again_the_same_night_and_count_for_it(nights: Nights) -> None:
    first = night(nights, 1.2)
    (judged,) = nights.judge()
    assert judged.rerun_id is not None
    with nights.sessions.reading() as session:
        again = sweeps.find(session, judged.rerun_id)
    assert (again.tags, again.num_points) == ({RERUN_OF: first}, 2)
    assert again.hardware_key == HARDWARE.hardware_key
    nights.finish(again.id, {"a": OfNode((120.0, 240.0), CONTROL_US)})
    (second,) = nights.judge()
    assert (second.sweep_id, second.num_nights, second.rerun_id) == (again.id, 21, None)
    assert only(nights).state is FindingState.SUSPECT


def test_a_suspicion_that_the_reruns_do_not_bear_out_is_gone(nights: Nights) -> None:
    night(nights, 1.2)
    (judged,) = nights.judge()
    assert judged.rerun_id is not None
    nights.finish(judged.rerun_id, {"a": OfNode((100.0, 200.0), CONTROL_US)})
    nights.judge()
    assert states(nights, only(nights).id) == ["suspect", "recovered"]


def test_people_move_findings_with_a_reason_and_only_along_the_ways(nights: Nights) -> None:
    night(nights, 1.2)
    nights.judge()
    finding_id = only(nights).id
    with nights.sessions.writing() as session:
        moved = findings.move(
            session,
            finding_id,
            FindingState.DISMISSED,
            reason="a backup ran",
            changed_by="alice",
            dismissal=Dismissal.FALSE_POSITIVE,
        )
        assert (moved.state, moved.dismissal) == (
            FindingState.DISMISSED,
            Dismissal.FALSE_POSITIVE,
        )
        with pytest.raises(ConflictError, match="it can become: confirmed"):
            findings.move(session, finding_id, FindingState.FIXED, reason="", changed_by="alice")
        with pytest.raises(NotFoundError):
            findings.move(session, "x", FindingState.FIXED, reason="", changed_by="alice")
    night(nights, 1.2)
    nights.judge()
    assert only(nights).state is FindingState.DISMISSED


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_decision_that_is_made_while_a_night_is_judged_stands(nights: Nights) -> None:
    """On SQLite the two begin one by one."""
    night(nights, 1.2)
    nights.judge()
    finding_id = only(nights).id
    night(nights, 1.2)
    with ThreadPoolExecutor(1) as pool:
        with nights.sessions.writing() as session:
            findings.move(
                session,
                finding_id,
                FindingState.DISMISSED,
                reason="a backup ran",
                changed_by="alice",
                dismissal=Dismissal.FALSE_POSITIVE,
            )
            judging = pool.submit(nights.judge)
            wait_until(lambda: is_anyone_waiting(nights.sessions), within_s=20)
        judging.result()
    assert only(nights).state is FindingState.DISMISSED
    assert states(nights, finding_id) == ["suspect", "dismissed"]


def test_pages_are_filtered_and_follow_each_other(nights: Nights) -> None:
    for direction in (1.2, 1.0, 0.8):
        night(nights, direction)
        nights.judge()
    newest, oldest = nights.findings()
    assert newest.created_at > oldest.created_at
    with nights.sessions.reading() as session:
        first = findings.page(session, FindingFilter(), limit=1)
        second = findings.page(session, FindingFilter(), limit=1, cursor=first.next_cursor)
        assert (first.items, second.items) == ((newest,), (oldest,))
        faded = FindingFilter(states=(FindingState.RECOVERED,))
        assert findings.page(session, faded, limit=9).items == (oldest,)
        for none in (FindingFilter(policy="x"), FindingFilter(causes=(Cause.LINK,))):
            assert findings.page(session, none, limit=9).items == ()
