import math
from itertools import combinations

import numpy as np

from service.analysis.changepoints.parameters import DEFAULTS
from service.analysis.changepoints.spikes import rising_rate, without_spikes

FLAT = np.random.default_rng(0).standard_normal(60)


def test_one_and_two_wild_nights_are_spikes_and_are_replaced() -> None:
    values = FLAT.copy()
    values[[20, 40, 41]] = 50, -30, -30
    found = without_spikes(values, DEFAULTS)
    assert np.flatnonzero(found.is_spike).tolist() == [20, 40, 41]
    assert np.abs(found.values[[20, 40, 41]]).max() < 3
    assert np.array_equal(found.values[~found.is_spike], values[~found.is_spike])


def test_a_spike_counts_as_noise_up_to_a_limit() -> None:
    values = FLAT.copy()
    values[20] = 1e6
    found = without_spikes(values, DEFAULTS)
    assert 3 < found.clipped[20] < 10


def test_three_nights_and_a_new_level_are_no_spike() -> None:
    values = FLAT.copy()
    values[20:23] += 50
    values[40:] += 50
    assert not without_spikes(values, DEFAULTS).is_spike.any()


def test_the_two_newest_nights_may_be_a_new_level() -> None:
    values = FLAT.copy()
    values[-2:] += 50
    assert not without_spikes(values, DEFAULTS).is_spike.any()


def test_rate_of_spikes_is_judged_by_counting_all_ways() -> None:
    is_spike = np.zeros(60, dtype=np.bool_)
    is_spike[[5, 40, 50]] = True
    ways = [
        len([place for place in chosen if place >= 30]) for chosen in combinations(range(60), 3)
    ]
    assert math.isclose(rising_rate(is_spike), np.mean(np.array(ways) >= 2))


def test_rate_of_spikes_needs_enough_nights() -> None:
    assert rising_rate(np.ones(59, dtype=np.bool_)) == 1
