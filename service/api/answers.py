"""Answers by example for the description: made-up measurements, reported by the real code."""

from pydantic import BaseModel

from service.analysis import plan
from service.api.examples.planning import MEMORY
from service.api.examples.sweeps import SWEEPS
from service.api.examples.trials import (
    OTHER_SWEEP_ID,
    SWEEP_ID,
    WHEN,
    arranged,
    paired,
    regrouped,
    trial,
)
from service.api.paging import Page
from service.reports import arrangements, breakeven, comparison, groups, memory, pairs, results
from service.reports.arrangements import ArrangementsReport
from service.reports.breakeven import BreakEvenReport
from service.reports.memory import MemoryRequest
from service.reports.preview import PreviewReport
from service.reports.result import ResultReport
from service.reports.sweeps import PointReport, ProgressReport, SweepReport
from service.reports.trials import with_trials
from service.store.states import PointState, SweepState, TrialState
from workers.contract.axes import Block, Phase
from workers.contract.pair import Pair, PairAxis
from workers.contract.sweep import SweepSpec

SPEC = SweepSpec.model_validate(SWEEPS["small"]["value"])


def answers() -> dict[str, BaseModel]:
    """An answer for each operation that has one worth showing, by the operation's name."""
    trials = [
        trial(point, replicate)
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
            items=list(arrangements.reports(arranged(shown[0].spec))), next_cursor=None
        ),
        "list_pairs": pairs.report(
            [point for one in shown for point in paired(one)],
            sweep_id=SWEEP_ID,
            pair=Pair(axis=PairAxis.COLLECTIVE_IMPL, values=("backend", "shared_memory")),
        ),
        "compare_groups": groups.report([*shown, *map(regrouped, shown)]),
        "plan_memory": memory.report(MemoryRequest.model_validate(MEMORY["training"]["value"])),
    }


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
