"""What other hardware, another night and turns measured is compared, on both databases."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from service.analysis.comparison import Verdict
from service.errors import NotComparableError
from service.reports import pairs
from service.reports.compared import ComparisonReport
from service.reports.comparison import between
from service.reports.selection import Selection
from service.reports.sides import Side
from service.store.engine import Sessions
from service.store.leases import Lease
from tests.integration.reports.measuring import measure_pair
from tests.integration.store.builders import FakeClock
from tests.integration.store.nights import Nights, OfNode
from tests.unit.analysis.trials import HARDWARE
from workers.contract.pair import Pair, PairAxis

OVERLAPPED = Pair(axis=PairAxis.OVERLAP, values=("none", "backward"))
OTHER = HARDWARE.model_copy(update={"accelerator": "Other CPU", "num_devices": 4})
NOISE = (1.0, 1.01, 0.99, 1.005)
BUSY = (1.0, 1.5, 2.0, 1.3)
"""How much slower the host made step and control of each replicate."""


@pytest.fixture
def nights(sessions: Sessions) -> Nights:
    clock = FakeClock(datetime(2026, 1, 1, 2, tzinfo=UTC))
    return Nights(Sessions(sessions.engine, clock=clock), clock, num_cases=2)


def night(nights: Nights, us: float, *, host: Sequence[float] = (1, 1, 1, 1)) -> str:
    """Two cases of so many us and twice as many, beside a control that the host slows too."""
    measured = {
        f"node-{number}": OfNode((us * noise * slow, 2 * us * noise * slow), 50 * slow)
        for number, (noise, slow) in enumerate(zip(NOISE, host, strict=True))
    }
    return nights.measure(measured)


def compared(
    sessions: Sessions, baseline: Selection, candidate: Selection, *allowed: str
) -> ComparisonReport:
    with sessions.reading() as session:
        return between(
            session,
            Side(baseline, "?baseline"),
            Side(candidate, "?candidate"),
            allow_different=allowed,
        )


def width(report: ComparisonReport) -> float:
    assert report.overall is not None
    assert report.overall.ci_low is not None
    assert report.overall.ci_high is not None
    return report.overall.ci_high - report.overall.ci_low


def on(hardware: str) -> Selection:
    return Selection(hardware=(hardware,))


def test_other_hardware_is_refused_until_each_field_that_differs_is_allowed(
    nights: Nights,
) -> None:
    night(nights, 100)
    nights.hardware = OTHER
    night(nights, 50)
    sides = on("Test CPU"), on("Other CPU")
    for allowed, left in (
        ((), ["hardware.accelerator", "hardware.num_devices"]),
        (("hardware.accelerator",), ["hardware.num_devices"]),
    ):
        with pytest.raises(NotComparableError) as refused:
            compared(nights.sessions, *sides, *allowed)
        assert [one.detail.partition(":")[0] for one in refused.value.errors] == left
    found = compared(nights.sessions, *sides, "hardware.accelerator", "hardware.num_devices")
    assert [(one.spec.batch, one.verdict) for one in found.points] == [
        (1, Verdict.FASTER),
        (2, Verdict.FASTER),
    ]
    assert found.coverage.common == 2
    assert found.overall is not None
    assert found.overall.ratio == pytest.approx(0.5)
    assert {"hardware.accelerator", "hardware.num_devices"} <= {
        one.field for one in found.differences
    }
    whole = compared(nights.sessions, *sides, "hardware")
    assert (whole.points, whole.differences) == (found.points, found.differences)


def test_a_busy_host_widens_the_interval_and_the_sentence_says_how_wide_it_is(
    nights: Nights,
) -> None:
    old, quiet = night(nights, 100), night(nights, 100)
    nights.hardware = OTHER
    busy = night(nights, 50, host=BUSY)
    before = Selection(sweep=(old,))
    steady = compared(nights.sessions, before, Selection(sweep=(quiet,)))
    far = compared(nights.sessions, before, Selection(sweep=(busy,)), "hardware")
    assert steady.overall is not None
    assert far.overall is not None
    assert steady.overall.verdict is Verdict.SAME
    assert width(far) > 10 * width(steady)
    assert far.overall.ratio > 0.65
    low, high = far.overall.normalised_ci_low, far.overall.normalised_ci_high
    assert far.overall.normalised_ratio == pytest.approx(0.5, rel=0.03)
    assert low is not None
    assert high is not None
    assert far.overall.ci_low is not None
    assert far.overall.ci_low <= low
    assert f"({low:.3f} to {high:.3f}, {high - low:.0%} wide)" in far.sentence


def test_another_night_on_a_slower_host_is_not_a_slower_point(nights: Nights) -> None:
    old, new = night(nights, 100), night(nights, 100, host=(1.2, 1.2, 1.2, 1.2))
    found = compared(nights.sessions, Selection(sweep=(old,)), Selection(sweep=(new,)))
    assert found.overall is not None
    assert found.overall.ratio == pytest.approx(1.2)
    assert found.overall.normalised_ratio == pytest.approx(1)
    assert {one.verdict for one in found.points} == {Verdict.INCONCLUSIVE}
    assert "the host alone, as the control shows it, changed by a factor of 1.20" in found.sentence


def test_of_a_pair_the_ratio_in_each_trial_is_judged(sessions: Sessions) -> None:
    """Trials that differ twofold, and whose two points differ by a tenth in each."""

    def by_turns(lease: Lease) -> tuple[Sequence[int], Sequence[int]]:
        first = 100_000 * (1 + lease.replicate)
        return [first] * 3, [first * (1100 + lease.replicate) // 1000] * 3

    sweep_id = measure_pair(sessions, OVERLAPPED, by_turns)
    sides = [Selection(sweep=(sweep_id,), overlap=(value,)) for value in ("none", "backward")]
    found = compared(sessions, sides[0], sides[1], "overlap")
    (only,) = found.points
    assert found.is_interleaved
    assert only.verdict is Verdict.SLOWER
    assert only.ratio == pytest.approx(1.102, abs=0.001)
    assert width(found) < 0.005
    assert "measured both by turns" in found.sentence


def test_of_a_pair_twin_steps_tell_the_ratio_as_in_the_report_of_pairs(sessions: Sessions) -> None:
    """The host became slow within each trial: the median of the one is fast, of the other slow."""

    def by_turns(lease: Lease) -> tuple[Sequence[int], Sequence[int]]:
        fast, slow = 100_000 + lease.replicate, 200_000
        twins = [fast * 11 // 10, fast * 11 // 10, slow * 11 // 10, slow * 11 // 10]
        return [fast, fast, fast, slow, slow], [*twins[:2], slow * 11 // 10, *twins[2:]]

    sweep_id = measure_pair(sessions, OVERLAPPED, by_turns)
    with sessions.reading() as session:
        (pair,) = pairs.find(session, sweep_id).pairs
    first, second = (Selection(sweep=(sweep_id,), overlap=(v,)) for v in ("none", "backward"))
    (found,) = compared(sessions, first, second, "overlap").points
    (swapped,) = compared(sessions, second, first, "overlap").points
    assert pair.parts[0].ratio == pytest.approx(1.1, rel=1e-4)
    assert found.ratio == pytest.approx(pair.parts[0].ratio, rel=1e-4)
    assert swapped.ratio == pytest.approx(1 / pair.parts[0].ratio, rel=1e-4)
    assert found.baseline.step_time_us == pytest.approx(100, rel=1e-3)
    assert found.candidate.step_time_us == pytest.approx(220, rel=1e-3)
