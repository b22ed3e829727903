"""Whether the columns of a row agree with each other, by recomputing each from the others."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence

from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.table import ELEMENT_BYTES, Cells, Figure, PrintedRow, halves

TOLERANCE = 0.01
"""Relative, beyond the rounding of what is printed. Of 27 public tables none is off by 0.6 %."""

_MOST_RANKS = 1 << 20
_CHANGED_IN_2020 = frozenset({Operation.ALL_GATHER, Operation.REDUCE_SCATTER})


def agrees(row: PrintedRow) -> bool:
    """Whether each algorithm bandwidth is size over time, as one version or another has it."""
    sizes = {row.message_bytes, _size_before_2020(row)}
    return all(any(_is_bandwidth_of(one, size) for size in sizes) for one in row.placements)


def _size_before_2020(row: PrintedRow) -> int:
    """What nccl-tests before June 2020 (commit ec1b5e2) divided by the time.

    For all_gather and reduce_scatter it left out a rank's own share, as its bus bandwidth does.
    """
    share = row.count * ELEMENT_BYTES[row.dtype]
    return row.message_bytes - share if row.message_bytes > share else row.message_bytes


def _is_bandwidth_of(cells: Cells, message_bytes: int) -> bool:
    time, algbw = cells.time_us, cells.algbw
    if time.low <= 0:
        return message_bytes == 0
    slowest, fastest = (message_bytes / us / 1e3 for us in (time.high, time.low))
    return _overlap(slowest, fastest, algbw)


def contradiction(row: PrintedRow, operation: Operation, num_ranks: int) -> str | None:
    """What of a row is impossible for the operation among so many ranks; None where all agrees."""
    expected = row.count * ELEMENT_BYTES[row.dtype]
    expected *= num_ranks if operation.is_count_per_rank else 1
    if row.message_bytes != expected:
        return f"size {row.message_bytes} is not count {row.count} of {row.dtype}: {expected} bytes"
    factor = operation.bus_factor(num_ranks)
    definitions = [(row.message_bytes, factor)]
    if operation in _CHANGED_IN_2020:
        definitions.append((_size_before_2020(row), 1.0))
    for cells in row.placements:
        if any(_are_bandwidths(cells, size, bus_factor) for size, bus_factor in definitions):
            continue
        time, algbw, busbw = (one.value for one in (cells.time_us, cells.algbw, cells.busbw))
        if any(_is_bandwidth_of(cells, size) for size, _ in definitions):
            return (
                f"busbw {busbw:g} is not algbw {algbw:g} times {factor:.4g}, "
                f"as for {operation} among {num_ranks} ranks"
            )
        found = row.message_bytes / time / 1e3 if time else 0.0
        return (
            f"algbw {algbw:g} is not size over time, {found:.4g} GB/s: "
            f"{row.message_bytes} bytes in {time:g} us"
        )
    return None


def _are_bandwidths(cells: Cells, message_bytes: int, factor: float) -> bool:
    low, high = cells.algbw.low * factor, cells.algbw.high * factor
    return _is_bandwidth_of(cells, message_bytes) and _overlap(low, high, cells.busbw)


def candidates(rows: Sequence[PrintedRow]) -> tuple[Operation, ...]:
    """Operations whose tables look like these, the likely one first: several print alike."""
    sample = next((row for row in rows if row.count), None)
    if sample is None:
        return ()
    is_per_rank = sample.message_bytes != sample.count * ELEMENT_BYTES[sample.dtype]
    is_reduction = sample.redop not in ("", "none")
    has_root = sample.root is not None and sample.root >= 0
    is_one = all(_overlap(cells.algbw.low, cells.algbw.high, cells.busbw) for cells in halves(rows))
    has_in_place = _has_in_place(rows)
    return tuple(
        one
        for one in Operation
        if has_in_place in (None, one.has_in_place)
        and one.is_count_per_rank == is_per_rank
        and one.is_reduction == is_reduction
        and one.has_root == has_root
        and (is_one or one.bus_factor(_MOST_RANKS) != 1)
    )


def _has_in_place(rows: Sequence[PrintedRow]) -> bool | None:
    """Whether what ran in place was checked and right; None where nothing was checked."""
    both = [(row.out_of_place, row.in_place) for row in rows]
    checked = [pair[1] for pair in both if pair[0] and pair[1] and pair[0].is_checked]
    right = [cells for cells in checked if cells.is_checked and not cells.num_wrong]
    return bool(right) if checked else None


def possible_ranks(rows: Sequence[PrintedRow], operation: Operation) -> tuple[int, int] | None:
    """Fewest and most ranks that the columns of most rows allow; None where they say nothing."""
    if operation.is_count_per_rank:
        shares = Counter(_share(row) for row in rows if row.count)
        usual = shares.most_common(1)[0][0] if shares else 0
        return (usual, usual) if usual > 1 else None
    if operation is not Operation.ALL_REDUCE:
        return None
    ranges = [found for cells in halves(rows) if (found := _all_reduce_ranks(cells))]
    if not ranges:
        return None
    starts, ends = sorted(low for low, _ in ranges), sorted(high for _, high in ranges)
    low = max(starts, key=lambda one: bisect_right(starts, one) - bisect_left(ends, one))
    return low, min(high for first, high in ranges if first <= low <= high)


def _share(row: PrintedRow) -> int:
    whole, rest = divmod(row.message_bytes, row.count * ELEMENT_BYTES[row.dtype])
    return 0 if rest else whole


def _all_reduce_ranks(cells: Cells) -> tuple[int, int] | None:
    """Solve busbw = algbw * 2(n-1)/n for n at both ends of the rounding."""
    if cells.algbw.low <= 0 or cells.busbw.low <= 0:
        return None
    low, high = cells.busbw.low / cells.algbw.high, cells.busbw.high / cells.algbw.low
    fewest = max(2, round(2 / (2 - low) + 0.499999)) if low < 2 else _MOST_RANKS  # noqa: PLR2004 - the factor's limit
    most = int(2 / (2 - high) + 1e-9) if high < 2 else _MOST_RANKS  # noqa: PLR2004 - the same
    return (fewest, most) if fewest <= most else None


def _overlap(low: float, high: float, printed: Figure) -> bool:
    return low * (1 - TOLERANCE) <= printed.high and printed.low <= high * (1 + TOLERANCE)
