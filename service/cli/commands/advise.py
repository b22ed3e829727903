import signal
from types import FrameType
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console

from service.analysis.recommendation.choice import DEFAULT_THRESHOLD, Objective
from service.cli.advice_table import show_advice
from service.cli.advising import Wanted, advice_of, reachable_service
from service.cli.configuration import load_settings
from service.cli.exits import ExitCode
from service.cli.failures import UsageError
from service.cli.model_argument import numbers, read_model
from service.cli.options import AsJson
from service.cli.steps import Steps
from service.cli.terminal import print_json
from service.cli.wire.advice import Advice
from workers.contract.axes import Dtype, Phase
from workers.contract.catalogue import whole_model_or_fields

app = typer.Typer()


@app.command()
def advise(
    *,
    model: Annotated[
        str, typer.Option(help="A preset's name, or a file: a config.json or an explicit model.")
    ],
    objective: Annotated[
        Objective, typer.Option(help="What to make the best of.")
    ] = Objective.LATENCY,
    phase: Annotated[Phase, typer.Option(help="What a step is.")] = Phase.DECODE,
    batch: Annotated[
        str | None, typer.Option(help="Sequences at a time, as in 1,8,64; chosen where not given.")
    ] = None,
    seq: Annotated[
        int | None, typer.Option(help="Tokens of one; in decode the cached ones.", min=1)
    ] = None,
    dtype: Annotated[
        Dtype | None, typer.Option(help="bfloat16 on a GPU, float32 on a CPU where not given.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Largest share of communication in a step.", min=0.01, max=0.99)
    ] = DEFAULT_THRESHOLD,
    as_json: AsJson = False,
) -> None:
    """Measure a few points here and say which TP degree to use.

    In under two minutes, on a running service or one of its own that ends with it. Of a model whose
    layer is too large, the largest of the same ratios is measured and the model itself predicted.
    """
    wanted = Wanted(
        model=_known(model),
        objective=objective,
        phase=phase,
        batches=[] if batch is None else numbers(batch, "--batch"),
        seq=seq,
        dtype=dtype,
        threshold=threshold,
    )
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    console = Console(stderr=as_json)
    steps = Steps(console)
    with reachable_service(load_settings(), steps) as client:
        found = advice_of(client, wanted, steps)
    advice = found.read(Advice)
    if as_json:
        print_json(found.document)
    else:
        show_advice(console, advice)
        steps.say("answered")
    if all(one.tp_degree is None for one in advice.recommendations):
        raise typer.Exit(ExitCode.NEGATIVE)


def _known(name: str) -> JsonValue:
    """Judge the model before anything is started for it."""
    found = read_model(name)
    try:
        whole_model_or_fields(found)
    except ValueError as error:
        raise UsageError(f"--model: {error}") from error
    return found


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt
