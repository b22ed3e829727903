import json
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console

from service.cli.client import Client, new_key, resource
from service.cli.configuration import load_settings
from service.cli.curve_table import show_curves
from service.cli.exits import ExitCode
from service.cli.model_argument import numbers
from service.cli.options import AsJson
from service.cli.roofline_table import show_rooflines
from service.cli.terminal import print_json, say
from service.cli.watching import exit_code_of, show_progress
from service.cli.wire.calibrations import Probe
from service.cli.wire.curves import Curve
from service.cli.wire.roofline import Roofline
from service.cli.wire.sweeps import Sweep
from workers.contract.calibration import TIME_S

app = typer.Typer()

MOST_NAMED = 5


@app.command()
def calibrate(
    *,
    tp: Annotated[
        str | None, typer.Option(help="TP degrees, as in 2,4; else all powers of two that fit.")
    ] = None,
    impl: Annotated[
        list[str] | None, typer.Option(help="Implementation of the collectives; several times.")
    ] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Of the largest message.")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32, bfloat16 or float16.")] = None,
    accelerator: Annotated[str | None, typer.Option(help="Part of the name.")] = None,
    time_s: Annotated[
        float, typer.Option("--time", help="Seconds for all of it; what is left then is cut.")
    ] = TIME_S,
    as_json: AsJson = False,
) -> None:
    """Measure collectives, matrix products and memory, for predictions.

    All-reduce, all-gather and reduce-scatter over message sizes, and the roofline of the device.
    The exit code is 1 unless everything was measured at least once.
    """
    asked: dict[str, JsonValue] = {
        "tp_degree": None if tp is None else [*numbers(tp, "--tp")],
        "collective_impl": None if impl is None else [*impl],
        "max_bytes": max_bytes,
        "dtype": dtype,
        "time_s": time_s,
        "where": None if accelerator is None else {"accelerator": accelerator},
    }
    body = {name: value for name, value in asked.items() if value is not None}
    console = Console(stderr=as_json)
    with Client.connect(load_settings()) as client:
        answer = client.post("/v1/calibrations", json.dumps(body).encode(), key=new_key())
        sweep = answer.read(Sweep)
        say(console, f"sweep {sweep.id}: {sweep.num_points} probes")
        sweep = show_progress(client, sweep.id, console=console, limit_s=time_s)
        code = exit_code_of(sweep)
        if sweep.state == "cancelled":
            code = _say_what_was_cut(client, sweep, console=console)
        if as_json:
            print_json(client.get(resource("sweeps", sweep.id)).document)
        else:
            show_rooflines(console, client.whole_list("/v1/roofline", {}).read(Roofline))
            show_curves(console, client.whole_list("/v1/curves", {}).read(Curve))
    raise typer.Exit(code)


def _say_what_was_cut(client: Client, sweep: Sweep, *, console: Console) -> ExitCode:
    """Replicates are measured one after the other: most of what is cut has been read before."""
    path = resource("sweeps", sweep.id, "points")
    probes = client.collect(path, {}, limit=sweep.num_points).read(Probe)
    cut = [probe for probe in probes if probe.is_cut]
    unread = [probe.spec.label for probe in cut if not probe.num_readings]
    say(
        console,
        f"cut short: {len(cut)} of {len(probes)} probes were read less often than asked",
        "bold yellow",
    )
    if unread:
        more = f" and {len(unread) - MOST_NAMED} more" if len(unread) > MOST_NAMED else ""
        say(console, f"never read: {', '.join(unread[:MOST_NAMED])}{more}", "bold yellow")
    return ExitCode.NEGATIVE if unread else ExitCode.OK
