from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console

from service.cli import files
from service.cli.check_report import annotations, junit
from service.cli.client import Client, Parameters, resource
from service.cli.configuration import load_settings
from service.cli.exits import ExitCode
from service.cli.failures import RefusedError, UsageError
from service.cli.options import AllowDifferent, AsJson, SweepId, Tolerance
from service.cli.terminal import print_json, say
from service.cli.verdicts import SLOWER, ratio_with_interval
from service.cli.wire.comparison import Comparison
from service.cli.wire.sweeps import Sweep

app = typer.Typer()

NOT_COMPARABLE = "not_comparable"


@app.command()
def check(
    sweep_id: SweepId,
    *,
    baseline: Annotated[
        str, typer.Option(help="Name of a baseline, or any other side that `compare` takes.")
    ],
    tolerance: Tolerance = None,
    allow_different: AllowDifferent = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", help="Write JUnit XML to this file.")
    ] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations for GitHub Actions.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tell CI whether a sweep is slower than a baseline.

    The exit code is 1 where a point or the whole is slower, the sweep did not succeed as a whole,
    or no point can be compared. Points that cannot be told do not fail. With --json `passes` and
    `problem` say the same.
    """
    if github and as_json:
        raise UsageError("--github is text, not JSON; leave out one of the two")
    wanted = {
        "baseline": baseline,
        "candidate": sweep_id,
        "tolerance": tolerance,
        "allow_different": allow_different,
    }
    with Client.connect(load_settings()) as client:
        found, document = _compared(client, wanted)
        sweep = client.get(resource("sweeps", sweep_id)).read(Sweep)
    problem = _problem(sweep, found)
    if junit_file is not None:
        body = junit(found, baseline=baseline, candidate=sweep_id, problem=problem)
        files.write(junit_file, body)
    passes = problem is None and not _is_slower(found)
    if as_json:
        print_json({**document, "problem": problem, "passes": passes})
    elif github:
        for line in annotations(found, problem=problem):
            typer.echo(line)
    else:
        _show(found, problem)
    raise typer.Exit(ExitCode.OK if passes else ExitCode.NEGATIVE)


def _compared(client: Client, wanted: Parameters) -> tuple[Comparison, dict[str, JsonValue]]:
    """The comparison; that the sides do not compare is an answer too, which CI is to be told."""
    try:
        answer = client.get("/v1/compare", wanted)
    except RefusedError as error:
        if error.code != NOT_COMPARABLE:
            raise
        told = "; ".join(error.lines)
        return Comparison(sentence=told), {"points": [], "sentence": told}
    found, document = answer.read(Comparison), answer.document
    assert isinstance(document, dict)  # noqa: S101 - the comparison was read from it
    return found, document


def _is_slower(found: Comparison) -> bool:
    ratios = [*found.points, *([] if found.overall is None else [found.overall])]
    return any(ratio.verdict == SLOWER for ratio in ratios)


def _problem(sweep: Sweep, found: Comparison) -> str | None:
    """What speaks against the sweep as a whole, whatever its points say."""
    if not sweep.is_over:
        return f"sweep {sweep.id} is not over; follow it with: tpsweep watch {sweep.id}"
    if sweep.state != "succeeded":
        return f"sweep {sweep.id} is {sweep.state}; tpsweep sweeps {sweep.id} says why"
    if not found.points:
        return "no point was measured on both sides on the same hardware"
    return None


def _show(found: Comparison, problem: str | None) -> None:
    console = Console()
    for point in found.points:
        if point.verdict == SLOWER:
            say(console, f"slower: {point.spec.label}: {ratio_with_interval(point)}", "bold red")
    for side, points in (
        ("baseline", found.unmatched_baseline),
        ("sweep", found.unmatched_candidate),
    ):
        if points:
            say(console, f"only in the {side}: {len(points)} points")
    if problem is not None:
        say(console, problem, "bold red")
    say(console, found.sentence, "bold")
