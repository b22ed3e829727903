from service.analysis.findings.swaps import NIGHTS_PER_SIDE, swaps


def test_each_hardware_that_takes_anothers_place_is_a_swap() -> None:
    first, second = swaps({"c": {20, 21}, "a": range(10), "b": {12, 13}})
    assert (first.before, first.after, second.before, second.after) == ("a", "b", "b", "c")
    assert (first.last, first.first) == ((5, 6, 7, 8, 9), (12, 13))
    assert len(first.last) == NIGHTS_PER_SIDE


def test_hardware_that_measures_side_by_side_is_not_swapped() -> None:
    assert swaps({"a": range(10), "b": range(9, 20)}) == ()
    assert swaps({"a": range(10)}) == swaps({}) == ()
