from collections.abc import Mapping, Sequence

from rich.table import Table

from service.cli.formats import interval, percent
from service.cli.terminal import cell, new_table
from service.cli.wire import Result, Spec

COLUMNS = (
    *("model", "dtype", "block", "phase", "batch", "tp"),
    *("step time", "comm", "speed-up", "collectives", "notes"),
)
NUMBERS = ("batch", "tp", "step time", "comm", "speed-up", "collectives")
NAMES = ("model", "dtype")
"""Columns that say nothing where all points have the same."""


def result_table(results: Sequence[Result], *, title: str = "") -> Table:
    """One row for each point, degrees of one batch under each other."""
    single = {_twin(result): result for result in results if result.spec.tp_degree == 1}
    ordered = sorted(results, key=_order)
    rows = [_row(result, single) for result in ordered]
    shown = [index for index in range(len(COLUMNS)) if _is_worth_showing(index, rows)]
    table = new_table(title, [COLUMNS[index] for index in shown], right=NUMBERS)
    previous: Result | None = None
    for result, row in zip(ordered, rows, strict=True):
        if previous is not None and _series(previous.spec) != _series(result.spec):
            table.add_section()
        table.add_row(*(cell(row[index]) for index in shown))
        previous = result
    return table


def _row(result: Result, single: Mapping[tuple[str, ...], Result]) -> tuple[str, ...]:
    spec, base = result.spec, single.get(_twin(result))
    speed_up = ""
    if base is not None and spec.tp_degree > 1:
        speed_up = f"{base.step_time_us.median / result.step_time_us.median:.2f}x"
    return (
        spec.model.label,
        spec.dtype,
        spec.block,
        spec.phase,
        str(spec.batch) if spec.seq == 1 else f"{spec.batch} x {spec.seq}",
        str(spec.tp_degree),
        interval(result.step_time_us),
        percent(result.communication_share) if spec.tp_degree > 1 else "",
        speed_up,
        str(result.num_collectives),
        ", ".join(result.quality),
    )


def _is_worth_showing(index: int, rows: Sequence[tuple[str, ...]]) -> bool:
    values = {row[index] for row in rows}
    return len(values) > 1 if COLUMNS[index] in NAMES else values != {""}


def _order(result: Result) -> tuple[str, str, str, str, int, int, int]:
    spec = result.spec
    return (*_series(spec), spec.seq, spec.batch, spec.tp_degree)


def _series(spec: Spec) -> tuple[str, str, str, str]:
    return spec.model.label, spec.block, spec.phase, spec.dtype


def _twin(result: Result) -> tuple[str, ...]:
    """What a point shares with the one that differs in tp_degree alone."""
    spec = result.spec
    return (result.sweep_id, *_series(spec), str(spec.batch), str(spec.seq))
