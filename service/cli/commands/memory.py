import json
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.exits import ExitCode
from service.cli.model_argument import ModelArgument, numbers, read_model
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, show_table
from service.cli.wire.memory import Memory, MemoryPlan
from service.figures import gigabytes

app = typer.Typer()

COLUMNS = (
    *("tp", "ZeRO", "dp", "weights", "grads", "optim"),
    *("acts", "cache", "passing", "total", "fits"),
)
"""Short, so that a row is a line of a narrow terminal."""


@app.command()
def memory(  # noqa: PLR0913 - one option for each thing that matters
    model: ModelArgument,
    *,
    tp: Annotated[str, typer.Option(help="TP degrees, as in 1,2,4.")] = "1,2,4,8",
    zero: Annotated[str, typer.Option(help="ZeRO stages, as in 0,3.")] = "0",
    data_parallel: Annotated[str, typer.Option(help="Data-parallel replicas.")] = "1",
    phase: Annotated[str, typer.Option(help="train, prefill or decode.")] = "train",
    precision: Annotated[
        str | None, typer.Option(help="As float32, bfloat16_mixed, bfloat16 or int8.")
    ] = None,
    recomputation: Annotated[str, typer.Option(help="none, selective or full.")] = "none",
    sequence_parallel: Annotated[
        bool, typer.Option("--sequence-parallel", help="Cut what stands between blocks as well.")
    ] = False,
    batch: Annotated[int, typer.Option(help="Sequences at a time; the micro-batch.")] = 1,
    seq: Annotated[int, typer.Option(help="Tokens of one; in decode the cached ones.")] = 2048,
    device_gb: Annotated[
        float | None, typer.Option(help="Memory of one GPU, GB = 1e9 bytes.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Plan what one GPU has to hold.

    By arithmetic, for each combination of TP degree, ZeRO stage and number of data-parallel
    replicas; nothing is measured. With --device-gb the exit code is 1 where nothing fits.
    """
    body = {
        "model": read_model(model),
        "tp_degree": numbers(tp, "--tp"),
        "zero_stage": numbers(zero, "--zero"),
        "data_parallel": numbers(data_parallel, "--data-parallel"),
        "phase": phase,
        "precision": precision,
        "recomputation": recomputation,
        "sequence_parallel": sequence_parallel,
        "batch": batch,
        "seq": seq,
        "device_memory_gb": device_gb,
    }
    with Client.connect(load_settings()) as client:
        answer = client.post("/v1/memory", json.dumps(body).encode())
    found = answer.read(Memory)
    if as_json:
        print_json(answer.document)
    else:
        _show(found)
    fits = device_gb is None or any(one.fits for one in found.plans)
    raise typer.Exit(ExitCode.OK if fits else ExitCode.NEGATIVE)


def _show(found: Memory) -> None:
    size = f"{found.num_parameters / 1e9:.2f}e9 parameters"
    title = f"{found.model.layer.label}, {size}, {found.phase}, {found.precision}: GB of one GPU"
    table = new_table(title, COLUMNS, right=COLUMNS[:-1])
    for one in found.plans:
        table.add_row(*map(cell, _row(one)))
    show_table(Console(), table, empty="nothing was asked for")


def _row(one: MemoryPlan) -> tuple[object, ...]:
    parts = (
        *(one.weights_bytes, one.gradients_bytes, one.optimizer_bytes, one.activations_bytes),
        *(one.kv_cache_bytes, one.passing_bytes, one.total_bytes),
    )
    fits = "" if one.fits is None else "yes" if one.fits else "no"
    return (one.tp_degree, one.zero_stage, one.data_parallel, *map(gigabytes, parts), fits)
