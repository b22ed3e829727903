"""The arrangements of a block side by side: what each costs by arithmetic, and what it took."""

from collections.abc import Sequence
from itertools import groupby

from pydantic import Field
from sqlalchemy.orm import Session

from service.reports import results
from service.reports.estimates import EstimateReport, StepTimeReport
from service.reports.result import ResultReport
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured
from workers.contract.arrangement_costs import ArrangementCost, ArrangementTable, cost_of
from workers.contract.axes import Arrangement
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec

SEQUENCE_PARALLEL = (Arrangement.SEQUENCE_PARALLEL, Arrangement.SEQUENCE_PARALLEL_KEPT)


class ArrangedReport(Frozen):
    """One measured arrangement; bytes are of one rank and one step."""

    result_id: str
    cost: ArrangementCost = Field(description="By arithmetic.")
    kept_bytes: int = Field(description="Activations held for backward, by arithmetic.")
    why: str = Field(description="What it takes more of, or less, than the cheapest one.")
    step_time_us: StepTimeReport
    exposed_communication_us: EstimateReport
    peak_memory_bytes: int | None = Field(
        description="As the device's allocator reports it; null on a CPU, whose figure is of the "
        "whole process."
    )
    quality: tuple[str, ...]


class ArrangementsReport(Frozen):
    """The arrangements of one block, all else equal, the cheapest by arithmetic first."""

    spec: PointSpec = Field(description="Of the cheapest one.")
    hardware_key: str
    accelerator: str
    arrangements: tuple[ArrangedReport, ...]
    sentences: tuple[str, ...] = Field(
        description="Which is cheapest and why, what sequence parallelism moves, and where the "
        "measurement does not bear the arithmetic out."
    )


def of_results(session: Session, which: ResultFilter) -> tuple[ArrangementsReport, ...]:
    """Report every block among the results that match, of which several are measured."""
    return reports(measured(session, which))


def reports(trials: Sequence[MeasuredTrial]) -> tuple[ArrangementsReport, ...]:
    """One report for each block with two arrangements or more at a tp_degree above 1. Pure."""
    blocks: dict[tuple[PointSpec, str], list[ResultReport]] = {}
    for _, own in groupby(trials, key=lambda trial: trial.point_id):
        found = results.report(list(own))
        if found.spec.tp_degree > 1 and found.spec.num_layers == 1:
            rest = found.spec.model_copy(update={"arrangement": Arrangement.COLUMN_ROW})
            blocks.setdefault((rest, found.hardware_key), []).append(found)
    several = [members for members in blocks.values() if len({m.spec for m in members}) > 1]
    return tuple(map(_report, several))


def _report(members: Sequence[ResultReport]) -> ArrangementsReport:
    by_name = {one.spec.arrangement: one for one in members}
    table = ArrangementTable.of(cost_of(one.spec) for one in by_name.values())
    arranged = [(cost, by_name[cost.arrangement]) for cost in table.costs]
    first = arranged[0][1]
    return ArrangementsReport(
        spec=first.spec,
        hardware_key=first.hardware_key,
        accelerator=first.hardware.accelerator,
        arrangements=tuple(_arranged(table, cost, result) for cost, result in arranged),
        sentences=(
            _cheapest(table),
            *_moved(table),
            *_disagreements([result for _, result in arranged]),
        ),
    )


def _arranged(
    table: ArrangementTable, cost: ArrangementCost, result: ResultReport
) -> ArrangedReport:
    is_gpu = result.hardware.memory_class_gib > 0
    return ArrangedReport(
        result_id=result.id,
        cost=cost,
        kept_bytes=cost.kept_activations * result.spec.dtype.num_bytes,
        why=table.why(cost),
        step_time_us=result.step_time_us,
        exposed_communication_us=result.estimates.exposed_communication_us,
        peak_memory_bytes=result.peak_memory_bytes if is_gpu else None,
        quality=result.quality,
    )


def _cheapest(table: ArrangementTable) -> str:
    best = table.cheapest
    return f"{best.arrangement} is the cheapest by arithmetic: {table.why(best)}"


def _moved(table: ArrangementTable) -> tuple[str, ...]:
    """Say what sequence parallelism moves: 1 or 1.25 times the all-reduces' bytes in training."""
    found = {cost.arrangement: cost for cost in table.costs}
    if Arrangement.COLUMN_ROW not in found:
        return ()
    reduced = found[Arrangement.COLUMN_ROW].bus_bytes
    return tuple(
        f"{name} moves {found[name].bus_bytes / reduced:.4g}x the bytes of column_row's all_reduces"
        for name in SEQUENCE_PARALLEL
        if name in found
    )


def _disagreements(ordered: Sequence[ResultReport]) -> tuple[str, ...]:
    """Compare each with the one that should be cheapest; only intervals apart say anything."""
    cheapest = ordered[0]
    return tuple(
        f"measured otherwise: {other.spec.arrangement} took {other.step_time_us.median:.4g} us, "
        f"below {cheapest.spec.arrangement}'s {cheapest.step_time_us.median:.4g} us, and their "
        "95 % intervals are apart"
        for other in ordered[1:]
        if _is_below(other.step_time_us, cheapest.step_time_us)
    )


def _is_below(one: StepTimeReport, other: StepTimeReport) -> bool:
    if one.ci_high is None or other.ci_low is None:
        return False
    return one.ci_high < other.ci_low
