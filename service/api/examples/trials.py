"""Made-up measurements for the description's examples, which the real code reports."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from service.analysis.control import ControlSummary, ControlTime
from service.analysis.summary import CollectiveSummary, TrialSummary
from service.store.results import MeasuredTrial
from workers.contract.axes import Arrangement, CollectiveImpl, GroupKind
from workers.contract.hardware import Environment, Hardware
from workers.contract.host_state import HostState
from workers.contract.point import PointSpec
from workers.contract.trial import Proof
from workers.contract.workload import expected_messages

SWEEP_ID = "01990000-0000-7000-8000-000000000001"
OTHER_SWEEP_ID = "01990000-0000-7000-8000-000000000002"
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
NUM_REPLICATES = 3
HARDWARE = Hardware(
    accelerator="AMD EPYC 9654", memory_class_gib=0, num_devices=2, fabric="host_memory"
)
ENVIRONMENT = Environment(
    hostname="node-1",
    os="Linux 6.12",
    python="3.12.4",
    torch="2.13.0+cpu",
    backend="gloo",
    cpu_model=HARDWARE.accelerator,
    num_cores=2,
    num_threads=1,
    realtime_io=True,
    flush_denormal=True,
    variables={},
    load_average=0.2,
)
PROOF = Proof(
    max_abs_error=2e-15,
    max_rel_error=8e-16,
    tolerance=1e-9,
    dtype="float64",
    num_collectives=2,
    collective_bytes=2048,
)


def arranged(spec: PointSpec) -> list[MeasuredTrial]:
    """Trials of the same point in three arrangements."""
    return [
        replace(trial(one, replicate), point_id=f"{SWEEP_ID[:-1]}{place}")
        for place, name in enumerate(
            (Arrangement.COLUMN_ROW, Arrangement.COLUMN_COLUMN, Arrangement.SEQUENCE_PARALLEL)
        )
        for one in [spec.model_copy(update={"arrangement": name})]
        for replicate in range(NUM_REPLICATES)
    ]


def paired(first: MeasuredTrial) -> tuple[MeasuredTrial, MeasuredTrial]:
    """A trial of the point and of a second one, with shared memory, which sends in less time."""
    spec = first.spec.model_copy(update={"collective_impl": CollectiveImpl.SHARED_MEMORY})
    summary = _summary(spec, jitter=1 + first.replicate / 100, wire=0.7 - first.replicate / 100)
    second = replace(
        first, spec=spec, summary=summary, point_id=OTHER_SWEEP_ID, paired_with=first.point_id
    )
    return first, second


def regrouped(first: MeasuredTrial) -> MeasuredTrial:
    """The same point in a re-formed group of warm processes, which vary less and sit elsewhere."""
    summary = _summary(first.spec, jitter=1.03 + first.replicate / 500)
    return replace(first, group_kind=GroupKind.REGROUPED, summary=summary)


def trial(spec: PointSpec, replicate: int) -> MeasuredTrial:
    """The point in one set of processes; in the first of them something else used the host."""
    return MeasuredTrial(
        id=f"{SWEEP_ID[:-2]}{spec.batch % 7}{replicate}",
        point_id=SWEEP_ID,
        paired_with=None,
        sweep_id=SWEEP_ID,
        replicate=replicate,
        attempt=1,
        group_id=f"node-1.{replicate}",
        group_kind=GroupKind.FRESH,
        spec=spec,
        spec_key=spec.spec_key,
        hardware_key=HARDWARE.hardware_key,
        hardware=HARDWARE,
        link_class="host_memory",
        node=ENVIRONMENT.hostname,
        environment=ENVIRONMENT,
        summary=_summary(spec, jitter=1 + replicate / 100),
        quality=() if replicate else ("busy_host",),
        stop_rule="interval",
        num_warmup_steps=5,
        peak_memory_bytes=1 << 24,
        proof=PROOF,
        hosts=tuple(_host(is_busy=not replicate) for _ in range(spec.tp_degree)),
        wall_ns=10**9,
        timed_ns=9 * 10**8,
        created_at=WHEN + timedelta(minutes=replicate),
    )


def _summary(spec: PointSpec, *, jitter: float, wire: float = 1) -> TrialSummary:
    """Compute that is divided over the ranks, and messages that are not."""
    messages = expected_messages(spec)
    compute_us = (80 + 9.0 * spec.batch / spec.tp_degree) * jitter
    wire_us = wire * (60 + spec.batch / 2)
    step_us = compute_us + 1.1 * wire_us * len(messages)
    return TrialSummary(
        step_time_us=step_us,
        forward_time_us=0.35 * step_us,
        backward_time_us=0.65 * step_us,
        split_step_time_us=1.01 * step_us,
        compute_time_us=compute_us,
        wire_us=wire_us * len(messages),
        wait_us=0.1 * wire_us * len(messages),
        p10_us=0.97 * step_us,
        p90_us=1.06 * step_us,
        min_us=0.95 * step_us,
        num_steps=200,
        perturbation=0.01,
        collectives=tuple(
            CollectiveSummary(
                op=message.op,
                where=message.where,
                message_bytes=message.message_bytes,
                time_us=wire_us,
                wait_us=0.1 * wire_us,
            )
            for message in messages
        ),
        control=_control(jitter=jitter, is_alone=spec.tp_degree == 1),
    )


def _host(*, is_busy: bool) -> HostState:
    return HostState(
        window_ns=10**9,
        load_average=(2.4, 2.5) if is_busy else (0.2, 0.3),
        num_runnable=(4, 4) if is_busy else (1, 1),
        waited_for_core_ns=8 * 10**7 if is_busy else 10**6,
        others_share=0.09 if is_busy else 0.0,
        steal_share=0.0,
        is_flushing_denormals=True,
        grown_bytes=0,
    )


def _control(*, jitter: float, is_alone: bool) -> ControlSummary:
    gemm, collective = (
        ControlTime(median_us=us * jitter, min_us=us, dispersion=0.06, num_steps=40)
        for us in (210.0, 95.0)
    )
    return ControlSummary(version=1, gemm=gemm, collective=None if is_alone else collective)
