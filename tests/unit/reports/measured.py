"""Measured trials with given times, for tests of what is reported of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from service.analysis.control import ControlSummary, ControlTime
from service.analysis.summary import CollectiveSummary, TrialSummary
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import ENVIRONMENT, HARDWARE, PROOF
from workers.contract.axes import GroupKind, Pass, Phase
from workers.contract.point import PointSpec
from workers.contract.workload import expected_messages

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def summary(
    spec: PointSpec, *, step_us: float = 100, compute_us: float | None = None
) -> TrialSummary:
    """A step of which 40 % is forward; each collective takes a tenth of a step and waits half."""
    collectives = tuple(
        CollectiveSummary(
            op=message.op,
            where=message.where,
            message_bytes=message.message_bytes,
            time_us=step_us / 10,
            wait_us=step_us / 20,
            timed_in=Pass.STANDALONE if message.is_overlapped else Pass.SPLIT,
        )
        for message in expected_messages(spec)
    )
    num_in_step = sum(one.timed_in is Pass.SPLIT for one in collectives)
    has_backward = spec.phase is Phase.TRAIN
    return TrialSummary(
        step_time_us=step_us,
        forward_time_us=step_us * (0.4 if has_backward else 1),
        backward_time_us=step_us * (0.6 if has_backward else 0),
        split_step_time_us=step_us * (1.02 if collectives else 1),
        compute_time_us=step_us if compute_us is None else compute_us,
        wire_us=step_us / 10 * num_in_step,
        wait_us=step_us / 20 * num_in_step,
        p10_us=step_us * 0.9,
        p90_us=step_us * 1.3,
        min_us=step_us * 0.8,
        num_steps=50,
        perturbation=0.02 if collectives else 0,
        collectives=collectives,
    )


def measured_trial(
    spec: PointSpec,
    *,
    replicate: int = 0,
    sweep_id: str = "sweep-a",
    step_us: float = 100,
    compute_us: float | None = None,
    spec_key: str | None = None,
) -> MeasuredTrial:
    key = spec_key or spec.spec_key
    point_id = f"{sweep_id}/{key}"
    return MeasuredTrial(
        id=f"{point_id}/{replicate}",
        point_id=point_id,
        paired_with=None,
        sweep_id=sweep_id,
        replicate=replicate,
        attempt=1,
        group_id=f"{sweep_id}-{replicate}",
        group_kind=GroupKind.FRESH,
        spec=spec,
        spec_key=key,
        hardware_key=HARDWARE.hardware_key,
        hardware=HARDWARE,
        link_class="host_memory",
        node="node-1",
        environment=ENVIRONMENT,
        summary=summary(spec, step_us=step_us, compute_us=compute_us),
        quality=(),
        stop_rule="interval",
        num_warmup_steps=3 + replicate,
        peak_memory_bytes=1000 + replicate,
        proof=PROOF,
        hosts=(),
        wall_ns=10**9,
        timed_ns=10**8,
        created_at=BEGAN + timedelta(minutes=replicate),
    )


def with_control(
    trial: MeasuredTrial, gemm_us: float, collective_us: float, *, dispersion: float = 0
) -> MeasuredTrial:
    """The same trial, beside whose steps every control step took so long."""
    gemm, collective = (
        ControlTime(median_us=us, min_us=us, dispersion=dispersion, num_steps=9)
        for us in (gemm_us, collective_us)
    )
    control = ControlSummary(version=1, gemm=gemm, collective=collective)
    return replace(trial, summary=trial.summary.model_copy(update={"control": control}))


def on_torch(trial: MeasuredTrial, version: str) -> MeasuredTrial:
    return replace(trial, environment=trial.environment.model_copy(update={"torch": version}))
