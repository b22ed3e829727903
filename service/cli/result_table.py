"""Results as tables, one for each series of batches."""

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase

from rich.console import Console
from rich.table import Table

from service.cli.terminal import cell, new_table, say
from service.cli.wire.results import OUTSIDE, Idle, Result
from service.cli.wire.spec import Spec
from service.figures import interval, percent

COLUMNS = ("batch", "tp", "step time", "comm", "speed-up", "collectives", "noise")
PREDICTED = ("batch", "tp", "step time", "predicted", "off by", "from")

GRADES = "A to D  how much fixed work between the steps varied: A at most 10%, B 25%, C 50%, D more"


def show_results(console: Console, results: Sequence[Result]) -> None:
    """Print a table for each series, and below them what the letters beside the rows mean."""
    single = {_twin(result): result for result in results if result.spec.tp_degree == 1}
    notes: dict[str, str] = {}
    for result in results:
        notes |= result.notes
    letters = {flag: _letter(index) for index, flag in enumerate(notes)}
    series: dict[str, list[Result]] = {}
    for result in results:
        series.setdefault(_series(result.spec), []).append(result)
    for name, members in series.items():
        console.print(_table(name, members, single=single, letters=letters))
        for result in members:
            if result.idle:
                say(console, _idle(result.spec, result.idle))
    if any(result.control and result.control.noise_grade for result in results):
        say(console, GRADES, "dim")
    for flag, letter in letters.items():
        say(console, f"{letter}  {notes[flag]}", "dim")


def show_predictions(console: Console, results: Sequence[Result]) -> None:
    """Print each step time beside what was predicted of it before it ran."""
    series: dict[str, list[Result]] = {}
    for result in results:
        series.setdefault(_series(result.spec), []).append(result)
    for name, members in series.items():
        table = new_table(name, PREDICTED, right=PREDICTED[:-1])
        for result in sorted(members, key=lambda one: (one.spec.batch, one.spec.tp_degree)):
            known = result.prediction
            said = (interval(known.interval), known.verdict, known.basis) if known else ("", "", "")
            point = (result.spec.batch, result.spec.tp_degree, interval(result.step_time_us))
            table.add_row(*map(cell, (*point, *said)))
        console.print(table)
    banded = [one.prediction.is_within for one in results if one.prediction]
    judged = [held for held in banded if held is not None]
    if judged:
        held = f"{sum(judged)} of {len(judged)} step times lie in the band, meant for 9 in 10"
        say(console, f"{held};{OUTSIDE} those that do not")


def _table(
    name: str,
    results: Iterable[Result],
    *,
    single: Mapping[tuple[str, ...], Result],
    letters: Mapping[str, str],
) -> Table:
    table = new_table(name, COLUMNS, right=COLUMNS[:-1])
    for result in sorted(results, key=lambda one: (one.spec.batch, one.spec.tp_degree)):
        is_sharded = result.spec.tp_degree > 1
        row = (
            result.spec.batch,
            result.spec.tp_degree,
            interval(result.step_time_us),
            percent(result.communication_share) if is_sharded else "",
            _speed_up(result, single.get(_twin(result))) if is_sharded and not result.idle else "",
            result.num_collectives,
            _noise(result, letters),
        )
        table.add_row(*map(cell, row))
    return table


def _noise(result: Result, letters: Mapping[str, str]) -> str:
    """Grade of the host and the result's flags, in one column: so that a row stays a line."""
    grade = result.control.noise_grade if result.control else ""
    return f"{grade} {''.join(sorted(letters[flag] for flag in result.quality))}".strip()


def _speed_up(result: Result, base: Result | None) -> str:
    if base is None:
        return ""
    return f"{base.step_time_us.median / result.step_time_us.median:.2f}x"


def _series(spec: Spec) -> str:
    """Name of the series; a sequence length of one goes without saying."""
    seq = [f"seq {spec.seq}"] if spec.seq != 1 else []
    dtype = [spec.dtype] if spec.dtype not in spec.variant else []
    words = (f"{spec.model.label} {spec.block} {spec.phase}", *seq, *dtype, *spec.variant)
    return ", ".join(words)


def _idle(spec: Spec, idle: Idle) -> str:
    shares = ", ".join(percent(share) for share in idle.share_by_rank)
    where = f"batch {spec.batch}, tp {spec.tp_degree}"
    return f"{where}: ranks idle for {shares} of the step; (P-1)/P is {percent(idle.ideal_share)}"


def _twin(result: Result) -> tuple[str, ...]:
    """What a point shares with the one that differs in tp_degree alone."""
    return (result.sweep_id, _series(result.spec), str(result.spec.batch))


def _letter(index: int) -> str:
    return ascii_lowercase[index] if index < len(ascii_lowercase) else str(index)
