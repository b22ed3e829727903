"""Advice as a person reads it: the curves, the degree for each batch with its reasons, caveats."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from service.cli.curve_plot import plot
from service.cli.terminal import cell, new_table, say, show_table
from service.cli.wire.advice import Advice
from service.cli.wire.interval import Interval
from service.cli.wire.recommendation import Candidate, Recommendation
from service.figures import interval, microseconds, percent

COLUMNS = ("batch", "tp", "", "step of a layer", "comm", "from", "why")


def show_advice(console: Console, advice: Advice) -> None:
    """Print all of it, the advice itself last."""
    for line in _drawn(advice).splitlines():
        say(console, line)
    name = advice.model or "the model"
    table = new_table(f"{name} on {advice.hardware}", COLUMNS, right=("batch", "tp"))
    for batch in advice.recommendations:
        for one in batch.candidates:
            if one.basis is not None:
                table.add_row(*_row(batch, one))
    show_table(console, table, empty="nothing was measured or predicted")
    for degree, reason in _others(advice.recommendations):
        say(console, f"tp_degree {degree}: {reason}")
    for sentence in advice.sentences:
        say(console, sentence)
    say(console, f"{name}: {_in_short(advice.recommendations)}", "bold")


def _row(batch: Recommendation, one: Candidate) -> list[Text]:
    is_best = one.tp_degree == batch.tp_degree
    parts = (
        batch.batch,
        one.tp_degree,
        "<-" if is_best else "",
        _time(one),
        percent(one.communication_share),
        one.basis,
        one.reason,
    )
    return [cell(part, "bold" if is_best else "") for part in parts]


def _others(batches: Sequence[Recommendation]) -> dict[tuple[int, str], None]:
    """Degrees without a step time and why, each once."""
    return dict.fromkeys(
        (one.tp_degree, one.reason)
        for batch in batches
        for one in batch.candidates
        if one.basis is None
    )


def _in_short(batches: Sequence[Recommendation]) -> str:
    """Name the degree wherever it changes along the batches, or what cannot be told does."""
    said: list[str] = []
    last = ""
    for one in batches:
        degree = "no tp_degree" if one.tp_degree is None else f"tp_degree {one.tp_degree}"
        others = [
            str(it.tp_degree)
            for it in one.candidates
            if it.is_undecided and it.over == one.tp_degree
        ]
        doubt = f"cannot tell whether {' or '.join(others)} is better" if others else ""
        notes = "; ".join(filter(None, (one.basis, doubt)))
        told = f"{degree}/{notes}"
        if told != last:
            said.append(f"{degree} from batch {one.batch} on" + (f" ({notes})" if notes else ""))
        last = told
    return ", ".join(said)


def _drawn(advice: Advice) -> str:
    curves = {
        f"tp_degree {curve.tp_degree}": [
            (float(step.batch), step.step_time_us.median) for step in curve.steps
        ]
        for curve in advice.curves
    }
    crossings = [
        (f"tp_degree {one.pays_against}", one.pays_from.batch)
        for one in advice.crossings
        if one.pays_from.batch is not None
    ]
    return plot(curves, crossings=crossings, title=f"step of {advice.measured.label}")


def _time(one: Candidate) -> str:
    if one.step_time_us is None:
        return ""
    if one.low_us is None or one.high_us is None:
        return microseconds(one.step_time_us)
    return interval(Interval(median=one.step_time_us, ci_low=one.low_us, ci_high=one.high_us))
