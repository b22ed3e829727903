"""Tables in the layout that nccl-tests prints, for the eyes and scripts that know it."""

from collections.abc import Iterator, Sequence

from service.analysis.nccl_tests.table import ELEMENT_BYTES, Row, Table

_GROUPS = f"#{'':>12}  {'':>12}  {'':>8}  {'':>6}  {'':>6}{'out-of-place':>23}{'in-place':>32}"
_PLACEMENT = ("time", "algbw", "busbw", "#wrong")
_PLACEMENT_UNITS = ("(us)", "(GB/s)", "(GB/s)", "")
_TIME, _BANDWIDTH = 7, 6


def as_text(tables: Sequence[tuple[Table, str]]) -> str:
    """Each with its own header, a note in it, and footer.

    `service.analysis.nccl_tests.reading` reads it back.
    """
    return "".join(f"{line}\n" for table, note in tables for line in _lines(table, note))


def _lines(table: Table, note: str) -> Iterator[str]:
    nodes = "" if table.num_nodes is None else f" num_nodes {table.num_nodes}"
    yield f"# Collective test starting: {table.operation}_perf"
    yield f"# num_ranks {table.num_ranks}{nodes} device {table.accelerator or 'unknown'}"
    yield f"# {note}"
    yield "#"
    yield _GROUPS
    head = f"{'size':>11}  {'count':>12}  {'type':>8}  {'redop':>6}  {'root':>6}"
    yield f"# {head}  {_columns(_PLACEMENT)}  {_columns(_PLACEMENT)}"
    units = f"{'(B)':>11}  {'(elements)':>12}  {'':>8}  {'':>6}  {'':>6}"
    yield f"# {units}  {_columns(_PLACEMENT_UNITS)}  {_columns(_PLACEMENT_UNITS)}".rstrip()
    for row in table.rows:
        yield _row(table, row)
    yield f"# {'Avg bus bandwidth':<20} : {_mean(table):g}"
    yield "#"
    yield f"# Collective test concluded: {table.operation}_perf"
    yield "#"


def _columns(names: Sequence[str]) -> str:
    time, algbw, busbw, wrong = names
    return f"{time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}"


def _row(table: Table, row: Row) -> str:
    shares = table.num_ranks if table.operation.is_count_per_rank else 1
    count = row.message_bytes // ELEMENT_BYTES[table.dtype] // shares
    redop = "sum" if table.operation.is_reduction else "none"
    root = 0 if table.operation.has_root else -1
    head = f"{row.message_bytes:>13}  {count:>12}  {table.dtype:>8}  {redop:>6}  {root:>6}"
    placements = (row.out_of_place_us, row.in_place_us)
    return "  ".join([head, *(_placement(table, row.message_bytes, us) for us in placements)])


def _placement(table: Table, message_bytes: int, time_us: float | None) -> str:
    if time_us is None:
        return f"{'N/A':>{_TIME}}  {'N/A':>{_BANDWIDTH}}  {'N/A':>{_BANDWIDTH}}  {'N/A':>6}"
    algbw = message_bytes / time_us / 1e3
    busbw = algbw * table.operation.bus_factor(table.num_ranks)
    shown = (_number(algbw, _BANDWIDTH), _number(busbw, _BANDWIDTH))
    return f"{_number(time_us, _TIME)}  {'  '.join(shown)}  {'N/A':>6}"


def _number(value: float, width: int) -> str:
    """As many of two decimals as there is room for, as nccl-tests does it."""
    for decimals in (2, 1, 0):
        shown = f"{value:{width}.{decimals}f}"
        if len(shown) <= width:
            return shown
    return f"{value:{width}.1e}"


def _mean(table: Table) -> float:
    factor = table.operation.bus_factor(table.num_ranks)
    found = [row.message_bytes / us / 1e3 * factor for row in table.rows for us in row.times_us]
    return sum(found) / len(found)
