"""Answers by example for the description: made-up measurements, reported by the real code."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

from service.analysis import plan
from service.analysis.summary import CollectiveSummary, TrialSummary
from service.api.examples import MEMORY, SWEEPS
from service.api.paging import Page
from service.api.sweeps import PreviewReport
from service.reports import arrangements, breakeven, comparison, memory, results
from service.reports.arrangements import ArrangementsReport
from service.reports.breakeven import BreakEvenReport
from service.reports.memory import MemoryRequest
from service.reports.result import ResultReport
from service.reports.sweeps import PointReport, ProgressReport, SweepReport
from service.reports.trials import with_trials
from service.store.results import MeasuredTrial
from service.store.states import PointState, SweepState, TrialState
from workers.contract.axes import Arrangement, Block, GroupKind, Phase
from workers.contract.hardware import Environment, Hardware
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec
from workers.contract.trial import Proof
from workers.contract.workload import expected_messages

SWEEP_ID = "01990000-0000-7000-8000-000000000001"
OTHER_SWEEP_ID = "01990000-0000-7000-8000-000000000002"
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
SPEC = SweepSpec.model_validate(SWEEPS["small"]["value"])

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


def answers() -> dict[str, BaseModel]:
    """An answer for each operation that has one worth showing, by the operation's name."""
    trials = [
        _trial(point, replicate)
        for point in SPEC.expand().points
        if (point.block, point.phase) == (Block.MLP, Phase.TRAIN)
        for replicate in range(SPEC.replicates)
    ]
    shown = [one for one in trials if (one.spec.tp_degree, one.spec.batch) == (2, 1024)]
    result = results.report(shown)
    return {
        **_sweeps(),
        "list_results": Page[ResultReport](items=[result], next_cursor=None),
        "get_result": with_trials(result, shown),
        "compare_sweeps": comparison.report(
            shown, shown, baseline_name=SWEEP_ID, candidate_name=OTHER_SWEEP_ID
        ),
        "get_breakeven": Page[BreakEvenReport](
            items=list(breakeven.reports(trials)), next_cursor=None
        ),
        "compare_arrangements": Page[ArrangementsReport](
            items=list(arrangements.reports(_arranged(shown[0].spec))), next_cursor=None
        ),
        "plan_memory": memory.report(MemoryRequest.model_validate(MEMORY["training"]["value"])),
    }


def _arranged(spec: PointSpec) -> list[MeasuredTrial]:
    """Trials of the same point in three arrangements."""
    return [
        replace(_trial(one, replicate), point_id=f"{SWEEP_ID[:-1]}{place}")
        for place, name in enumerate(
            (Arrangement.COLUMN_ROW, Arrangement.COLUMN_COLUMN, Arrangement.SEQUENCE_PARALLEL)
        )
        for one in [spec.model_copy(update={"arrangement": name})]
        for replicate in range(SPEC.replicates)
    ]


def _sweeps() -> dict[str, BaseModel]:
    points = SPEC.expand().points
    num_trials = len(points) * SPEC.replicates
    sweep = SweepReport(
        id=SWEEP_ID,
        name=SPEC.name,
        state=SweepState.QUEUED,
        num_points=len(points),
        num_rejected=0,
        counts=dict.fromkeys(PointState, 0) | {PointState.QUEUED: len(points)},
        trial_counts=dict.fromkeys(TrialState, 0) | {TrialState.QUEUED: num_trials},
        progress=ProgressReport(num_trials=num_trials, num_done=0, fraction=0, eta_s=None),
        priority=0,
        tags={},
        hardware_key=None,
        seed=1,
        created_by="local",
        created_at=WHEN,
        cancel_requested_at=None,
        finished_at=None,
        spec=SPEC,
    )
    point = PointReport(
        id=SWEEP_ID,
        sweep_id=SWEEP_ID,
        position=0,
        spec=points[0],
        spec_key=points[0].spec_key,
        state=PointState.QUEUED,
        counts=dict.fromkeys(TrialState, 0) | {TrialState.QUEUED: SPEC.replicates},
        attempt=0,
        error=None,
        rejection=None,
        paired_with=None,
    )
    preview = PreviewReport(
        num_points=1,
        num_trials=SPEC.replicates,
        points=points[:1],
        rejected=(),
        estimated_s=plan.estimated_s(SPEC, num_points=1),
    )
    return {
        "preview_sweep": preview,
        "create_sweep": sweep,
        "get_sweep": sweep,
        "cancel_sweep": sweep,
        "retry_sweep": sweep,
        "list_sweeps": Page[SweepReport](items=[sweep], next_cursor=None),
        "list_points": Page[PointReport](items=[point], next_cursor=None),
    }


def _trial(spec: PointSpec, replicate: int) -> MeasuredTrial:
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
        quality=(),
        stop_rule="interval",
        num_warmup_steps=5,
        peak_memory_bytes=1 << 24,
        proof=PROOF,
        hosts=(),
        wall_ns=10**9,
        timed_ns=9 * 10**8,
        created_at=WHEN + timedelta(minutes=replicate),
    )


def _summary(spec: PointSpec, *, jitter: float) -> TrialSummary:
    """Compute that is divided over the ranks, and messages that are not."""
    messages = expected_messages(spec)
    compute_us = (80 + 9.0 * spec.batch / spec.tp_degree) * jitter
    wire_us = 60 + spec.batch / 2
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
    )
