import numpy as np
import pytest

from service.analysis.changepoints.parameters import DEFAULTS
from service.analysis.changepoints.series import Series
from service.analysis.changepoints.suspects import find_suspects
from tests.unit.analysis.changepoints.nights import noisy, steps


def places(values: list[float | None]) -> list[int]:
    return [suspect.place for suspect in find_suspects(Series.of(values), DEFAULTS)]


@pytest.mark.parametrize("seed", range(5))
def test_a_step_of_five_percent_is_suspect_the_same_night(seed: int) -> None:
    assert 60 in places(noisy(steps((60, 100.0), (5, 105.5)), seed=seed))


def test_what_a_night_is_called_depends_on_earlier_nights_alone() -> None:
    values = noisy(steps((30, 100.0), (30, 110.0)), seed=1)
    values[20] = 150.0
    whole = places(values)
    for number in range(1, 60):
        assert places(values[:number]) == [place for place in whole if place < number]


def test_small_and_usual_deviations_are_no_suspects() -> None:
    quiet = noisy(steps((40, 100.0)), seed=2, cv=0.0001)
    quiet[39] = 101.0
    assert places(quiet) == []
    two_modes = np.where(np.random.default_rng(3).random(200) < 0.3, 103.0, 100.0)
    assert len(places(noisy(two_modes, seed=4))) <= 4


def test_the_first_nights_have_nothing_to_be_judged_by() -> None:
    assert places([1.0, 2.0, 1.0, 1.0, 1.0, 1.0]) == []
    assert places([]) == []


def test_a_suspect_tells_how_far_it_is_from_what() -> None:
    (suspect,) = find_suspects(Series.of([10.0, 10.1, 9.9] * 5 + [20.0]), DEFAULTS)
    assert suspect.reference == 10.0
    assert suspect.z > 10
