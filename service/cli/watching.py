from collections.abc import Iterator
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from service.cli.client import Client, resource
from service.cli.escaping import printable
from service.cli.exits import ExitCode
from service.cli.follow import progress
from service.cli.wire.sweeps import Sweep
from service.figures import duration

WAITING, STARTING = "waiting for a worker group", "starting a worker group"
REDRAWS_PER_S = 2
"""More would take time from cores that may be measuring."""


def show_progress(
    client: Client, sweep_id: str, *, console: Console, limit_s: float | None = None
) -> Sweep:
    """Draw a bar until the sweep is over; without a terminal, a line whenever a tenth is done.

    What has not run `limit_s` after its first trial was taken is cancelled.
    """
    looks = progress(client, sweep_id)
    if limit_s is not None:
        looks = _within(looks, client, sweep_id, limit_s=limit_s)
    show = _draw_bar if console.is_terminal else _write_lines
    return show(looks, console=console)


def _within(
    looks: Iterator[Sweep], client: Client, sweep_id: str, *, limit_s: float
) -> Iterator[Sweep]:
    stop = Timer(limit_s, client.post, (resource("sweeps", sweep_id, "cancel"),))
    try:
        for sweep in looks:
            if sweep.state != "queued" and stop.ident is None:
                stop.start()
            yield sweep
    finally:
        stop.cancel()


def exit_code_of(sweep: Sweep) -> ExitCode:
    """Only a sweep that fully succeeded is a success."""
    return ExitCode.OK if sweep.state == "succeeded" else ExitCode.NEGATIVE


def describe(sweep: Sweep) -> str:
    """How far the sweep is, in a few words."""
    failed, eta_s = sweep.trial_counts.get("failed", 0), sweep.progress.eta_s
    parts = [
        _activity(sweep),
        f"{failed} failed" if failed else "",
        f"about {duration(eta_s)} left" if eta_s and not sweep.is_over else "",
    ]
    return printable(", ".join(part for part in parts if part))


def _activity(sweep: Sweep) -> str:
    if sweep.state == "queued":
        return WAITING
    counts = sweep.trial_counts
    is_starting = counts.get("leased", 0) > 0 and not counts.get("running", 0)
    return STARTING if is_starting and sweep.state == "running" else sweep.state


def _draw_bar(looks: Iterator[Sweep], *, console: Console) -> Sweep:
    columns = (
        BarColumn(bar_width=40),
        MofNCompleteColumn(),
        TextColumn("trials"),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, refresh_per_second=REDRAWS_PER_S) as bar:
        task = bar.add_task(WAITING, total=None)
        for sweep in looks:
            bar.update(
                task,
                total=sweep.progress.num_trials,
                completed=sweep.progress.num_done,
                description=describe(sweep),
            )
    return sweep


def _write_lines(looks: Iterator[Sweep], *, console: Console) -> Sweep:
    tenths_said = -1
    for sweep in looks:
        done, trials = sweep.progress.num_done, sweep.progress.num_trials
        tenths = 10 * done // max(1, trials)
        if tenths > tenths_said or sweep.is_over:
            tenths_said = tenths
            line = f"{done} of {trials} trials, {describe(sweep)}"
            console.print(line, markup=False, highlight=False)
    return sweep
