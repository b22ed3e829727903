"""Which earlier sweep is the last good one."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from service.analysis.baselines import Earlier, LastGood, last_good, looked_at

START = datetime(2026, 1, 1, tzinfo=UTC)
NEWEST = 10


def found(times: Sequence[float | None]) -> LastGood:
    """Nights by their step times; None is a night that failed."""
    nights = [
        Earlier(str(night), START + timedelta(days=night), has_succeeded=time is not None)
        for night, time in enumerate(times)
    ]

    def slower_than(good: str, other: str) -> str | None:
        before, after = times[int(good)], times[int(other)]
        assert before is not None
        assert after is not None
        return f"slower ({after / before:.2f})" if after > 1.05 * before else None

    return last_good(nights[::-1], slower_than)


def test_the_newest_night_that_was_not_slower_is_good() -> None:
    assert found([100, 101, 99]).sweep_id == "2"


def test_a_step_that_stays_is_never_taken_for_good() -> None:
    good = found([100, 100, 120, 120, 120])
    assert good.sweep_id == "1"
    assert [one.sweep_id for one in good.passed_over] == ["2", "3", "4"]
    assert good.passed_over[0].reason == "slower (1.20) than sweep 1"


def found_among_all(times: Sequence[float | None]) -> float | None:
    """The time of the good one, where not every night is looked at."""
    numbers = [str(night) for night in range(len(times))]
    chosen = sorted(int(one) for one in looked_at(numbers[::-1], num_newest=NEWEST))
    good = found([times[night] for night in chosen])
    assert good.sweep_id is not None
    return times[chosen[int(good.sweep_id)]]


@given(st.integers(1, 400), st.integers(0, 400))
def test_a_step_is_never_taken_for_good_however_long_it_stays(before: int, after: int) -> None:
    assert found_among_all([100.0] * before + [120.0] * after) == 100


def test_a_step_back_from_a_level_that_was_reached_later_is_not_taken_for_good() -> None:
    """A year at 100, two months at 80, and since two weeks 90."""
    assert found_among_all([100.0] * 365 + [80.0] * 60 + [90.0] * 14) == 80


@given(st.integers(0, 1000))
def test_the_newest_and_the_oldest_are_looked_at_and_few_between(num_sweeps: int) -> None:
    newest_first = [str(number) for number in range(num_sweeps)]
    chosen = looked_at(newest_first, num_newest=NEWEST)
    assert chosen[:NEWEST] == newest_first[:NEWEST]
    assert chosen[-1:] == newest_first[-1:]
    assert len(chosen) == len(set(chosen)) <= NEWEST + 7


def test_a_night_that_failed_is_passed_over() -> None:
    good = found([100, None])
    assert good.sweep_id == "0"
    assert good.passed_over[0].reason == "not all of its trials succeeded"


def test_without_a_good_night_it_says_so() -> None:
    assert found([]).reason == "no earlier sweep measured the same points"
    none = found([None, None])
    assert (none.sweep_id, none.reason) == (
        None,
        "none of 2 earlier sweeps of the same points succeeded",
    )


@given(st.lists(st.none() | st.floats(90, 130), max_size=12))
def test_every_night_is_good_passed_over_or_older_than_the_good_one(
    times: list[float | None],
) -> None:
    good = found(times)
    passed = {one.sweep_id for one in good.passed_over}
    assert good.sweep_id not in passed
    if good.sweep_id is None:
        assert len(passed) == len(times)
    else:
        assert all(str(night) in passed for night in range(int(good.sweep_id) + 1, len(times)))
