"""The talk with the service that ends in advice: a probe, a sweep, the answer, within a time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

from pydantic import JsonValue

from service.cli.answers import Answer
from service.cli.client import Client, new_key, resource
from service.cli.demonstration import own_service
from service.cli.failures import ServerFailedError, UnreachableError
from service.cli.steps import Steps
from service.cli.watching import show_progress
from service.cli.wire.advice import AdvicePlan
from service.cli.wire.sweeps import Sweep
from service.settings import Settings
from workers.contract.axes import Dtype, Phase

ALL_MEASURED_BY_S = 105.0
"""Since the start. What is still queued then is cancelled, so that the answer is there in 120."""
LEAST_FOR_SWEEP_S = 60.0
"""Where starting took so long that less is left, the answer comes later."""
SPARE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What advice is asked for."""

    model: JsonValue
    objective: str
    phase: Phase
    batches: Sequence[int]
    seq: int | None
    dtype: Dtype | None
    threshold: float


@contextmanager
def reachable_service(settings: Settings, steps: Steps) -> Iterator[Client]:
    """A client of the running service, else of one that ends with the block.

    Where TPSWEEP_URL names a service, that one is meant: UnreachableError if it does not answer.
    """
    with Client.connect(settings) as client:
        try:
            client.get("/readyz")
        except UnreachableError:
            if settings.url:
                raise
        else:
            steps.say(f"measuring through the service at {client.url}")
            yield client
            return
    with own_service(settings, steps, log_name="advise.log") as client:
        yield client


def advice_of(client: Client, wanted: Wanted, steps: Steps) -> Answer:
    """Measure and ask."""
    first = _plan(client, wanted, probe=None, time_s=ALL_MEASURED_BY_S)
    steps.say(f"a probe on {first.read(AdvicePlan).hardware}")
    probe = _measure(client, first, steps, until_s=ALL_MEASURED_BY_S)
    until_s = max(ALL_MEASURED_BY_S, steps.elapsed_s + LEAST_FOR_SWEEP_S)
    if until_s > ALL_MEASURED_BY_S:
        steps.say("this machine is busy or slow: the answer will take more than two minutes")
    time_s = until_s - SPARE_S - steps.elapsed_s
    second = _plan(client, wanted, probe=probe.id, time_s=time_s)
    plan = second.read(AdvicePlan)
    steps.say(f"measuring {plan.reason}; about {plan.estimated_s or 0:.0f} s")
    sweep = _measure(client, second, steps, until_s=until_s)
    body: dict[str, JsonValue] = {
        "model": wanted.model,
        "sweep": sweep.id,
        "objective": wanted.objective,
        "threshold": wanted.threshold,
    }
    return client.post("/v1/advice", _encoded(body))


def _plan(client: Client, wanted: Wanted, *, probe: str | None, time_s: float) -> Answer:
    asked: dict[str, JsonValue] = {
        "model": wanted.model,
        "phase": wanted.phase,
        "batch": list(wanted.batches),
        "seq": wanted.seq,
        "dtype": wanted.dtype,
        "time_s": time_s,
        "probe": probe,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return client.post("/v1/advice/plan", _encoded(given))


def _measure(client: Client, planned: Answer, steps: Steps, *, until_s: float) -> Sweep:
    """Submit what was planned and follow it, to its end or until there is no time left."""
    plan = planned.document
    if not isinstance(plan, dict):
        raise ServerFailedError(f"{planned.url} answered no plan")
    sweep = client.post("/v1/sweeps", _encoded(plan["sweep"]), key=new_key()).read(Sweep)
    left_s = max(1.0, until_s - steps.elapsed_s)
    stop = Timer(left_s, client.post, (resource("sweeps", sweep.id, "cancel"),))
    stop.start()
    try:
        sweep = show_progress(client, sweep.id, console=steps.console)
    except KeyboardInterrupt:
        client.post(resource("sweeps", sweep.id, "cancel"))
        raise
    finally:
        stop.cancel()
    if sweep.state == "cancelled":
        steps.say("no time is left; the answer is by what was measured")
    return sweep


def _encoded(document: Mapping[str, JsonValue] | JsonValue) -> bytes:
    return json.dumps(document).encode()
