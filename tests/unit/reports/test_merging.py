from itertools import chain

from service.reports.merging import BYTES_AT_ONCE, LINES_AT_ONCE, batches


def numbers(*lines: bytes) -> list[list[int]]:
    """Which lines are taken at once."""
    return [[number for number, _ in batch] for batch in batches(enumerate(lines, start=1))]


def test_long_lines_are_taken_by_their_bytes() -> None:
    half, whole = bytes(BYTES_AT_ONCE // 2), bytes(BYTES_AT_ONCE)
    assert numbers(half, half, half, b"x", whole, b"x") == [[1, 2], [3, 4], [5], [6]]


def test_a_line_that_is_longer_by_itself_is_taken_alone() -> None:
    longer = bytes(BYTES_AT_ONCE + 1)
    assert numbers(longer, longer, b"x") == [[1], [2], [3]]


def test_short_lines_are_taken_by_their_number_and_none_is_lost() -> None:
    found = numbers(*[b"x"] * (2 * LINES_AT_ONCE + 1))
    assert [len(batch) for batch in found] == [LINES_AT_ONCE, LINES_AT_ONCE, 1]
    assert list(chain.from_iterable(found)) == list(range(1, 2 * LINES_AT_ONCE + 2))


def test_of_no_line_there_is_nothing_to_take() -> None:
    assert numbers() == []
