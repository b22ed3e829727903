"""From which batch on tensor parallelism is worth it, series by series, in figures and words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.breakeven import Times, compute_overtakes, pays_from
from service.analysis.crossing import Crossing, Outcome
from service.reports import sentences
from service.store.result_filter import ResultFilter
from service.store.timed import Timed, timed
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Dtype, Launch, Overlap, Phase
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape


class CrossingReport(Frozen):
    """Where a series crosses, or why that cannot be said."""

    state: Literal["crossed", "not_reached", "cannot_tell"]
    batch: float | None = Field(
        description="Where the mean over replicates crosses; null unless crossed."
    )
    ci_low: float | None = Field(
        description="95 % interval; a bound is null where it lies outside of the measured range, "
        "both are with one replicate."
    )
    ci_high: float | None
    lowest_batch: int = Field(
        description="The measured range; of sweeps of several ranges the one that most replicates "
        "cover."
    )
    highest_batch: int
    dominates: str | None = Field(
        description="Where not reached: who leads in the whole range, beyond chance where `n` is "
        "above 1."
    )
    reason: str | None = Field(description="Where it cannot be told: why.")
    n: int = Field(description="Replicates that cover the range.")
    num_crossed: int
    num_unsteady: int = Field(
        description="Replicates whose curve also crosses back; they are smoothed to rise."
    )


class CurvePoint(Frozen):
    """Medians over trials at one batch."""

    batch: int
    step_time_us: float
    compute_time_us: float
    exposed_communication_us: float


class BreakEvenReport(Frozen):
    """One series: everything but the batch is fixed."""

    model: ModelShape
    block: Block
    arrangement: Arrangement
    phase: Phase
    tp_degree: int
    seq: int
    dtype: Dtype
    collective_impl: CollectiveImpl
    overlap: Overlap
    launch: Launch
    hardware_key: str
    accelerator: str
    compute_overtakes: CrossingReport = Field(
        description="Where compute takes longer than exposed communication."
    )
    pays_against: int | None = Field(description="The next smaller tp_degree that was measured.")
    pays_from: CrossingReport | None = Field(
        description="Where the step is shorter than at that degree."
    )
    curve: tuple[CurvePoint, ...]
    quality: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Series:
    """Trials of one series at one tp_degree, by sweep and replicate, then by batch."""

    spec: PointSpec
    hardware_key: str
    accelerator: str
    replicates: dict[tuple[str, int], dict[int, Times]] = field(default_factory=dict)
    quality: set[str] = field(default_factory=set)

    def add(self, trial: Timed) -> None:
        """Take one more trial in."""
        own = self.replicates.setdefault((trial.sweep_id, trial.replicate), {})
        own[trial.spec.batch] = Times(step_us=trial.step_time_us, compute_us=trial.compute_time_us)
        self.quality.update(trial.quality)


Ladder = Mapping[int, Series]
"""One series by tp_degree."""


def of_results(session: Session, which: ResultFilter) -> tuple[BreakEvenReport, ...]:
    """Break-even of every series among the results that match."""
    return reports(timed(session, which))


def reports(trials: Sequence[Timed]) -> tuple[BreakEvenReport, ...]:
    """One report for each series with two batches or more at a tp_degree above 1. Pure."""
    found = []
    for ladder in _ladders(trials):
        degrees = sorted(ladder)
        for degree in degrees:
            smaller = max((other for other in degrees if other < degree), default=None)
            if ladder[degree].spec.num_layers > 1:
                smaller = None  # it passes through fewer layers: another amount of work
            if degree > 1 and (one := _report(ladder, degree, smaller)):
                found.append(one)
    return tuple(found)


def _ladders(trials: Sequence[Timed]) -> list[dict[int, Series]]:
    ladders: dict[tuple[PointSpec, str], dict[int, Series]] = {}
    identities: dict[str, PointSpec] = {}
    for trial in trials:
        spec = trial.spec
        identity = identities.get(trial.spec_key)
        if identity is None:
            identity = spec.model_copy(update={"batch": 1, "tp_degree": 1})
            identities[trial.spec_key] = identity
        ladder = ladders.setdefault((identity, trial.hardware_key), {})
        if spec.tp_degree not in ladder:
            ladder[spec.tp_degree] = Series(spec, trial.hardware_key, trial.hardware.accelerator)
        ladder[spec.tp_degree].add(trial)
    return list(ladders.values())


def _report(ladder: Ladder, degree: int, smaller: int | None) -> BreakEvenReport | None:
    series = ladder[degree]
    overtakes = compute_overtakes(series.replicates)
    if overtakes is None:
        return None
    pays = None
    if smaller is not None:
        pays = pays_from(series.replicates, smaller_degree=ladder[smaller].replicates)
    spec = series.spec
    return BreakEvenReport(
        model=spec.model,
        block=spec.block,
        arrangement=spec.arrangement,
        phase=spec.phase,
        tp_degree=degree,
        seq=spec.seq,
        dtype=spec.dtype,
        collective_impl=spec.collective_impl,
        overlap=spec.overlap,
        launch=spec.launch,
        hardware_key=series.hardware_key,
        accelerator=series.accelerator,
        compute_overtakes=crossing_report(overtakes, above="compute", below="communication"),
        pays_against=None if pays is None else smaller,
        pays_from=pays
        and crossing_report(pays, above=f"tp_degree {degree}", below=f"tp_degree {smaller}"),
        curve=_curve(series),
        quality=tuple(sorted(series.quality)),
        sentence=sentences.break_even(spec, overtakes, pays, smaller=smaller, flags=series.quality),
    )


def crossing_report(found: Crossing, *, above: str, below: str) -> CrossingReport:
    """Publish a crossing; `above` and `below` name who leads beyond and before it."""
    states: dict[Outcome, tuple[Literal["crossed", "not_reached", "cannot_tell"], str | None]] = {
        Outcome.CROSSED: ("crossed", None),
        Outcome.NEVER_BELOW: ("not_reached", above),
        Outcome.NEVER_ABOVE: ("not_reached", below),
        Outcome.CANNOT_TELL: ("cannot_tell", None),
    }
    state, dominates = states[found.outcome]
    return CrossingReport(
        state=state,
        batch=found.batch and found.batch.median,
        ci_low=found.batch and found.batch.low,
        ci_high=found.batch and found.batch.high,
        lowest_batch=found.lowest_batch,
        highest_batch=found.highest_batch,
        dominates=dominates,
        reason=sentences.doubt(found),
        n=found.num_replicates,
        num_crossed=found.num_crossed,
        num_unsteady=found.num_unsteady,
    )


def _curve(series: Series) -> tuple[CurvePoint, ...]:
    by_batch: dict[int, list[Times]] = {}
    for own in series.replicates.values():
        for batch, times in own.items():
            by_batch.setdefault(batch, []).append(times)
    return tuple(
        CurvePoint(
            batch=batch,
            step_time_us=median(times.step_us for times in all_times),
            compute_time_us=median(times.compute_us for times in all_times),
            exposed_communication_us=median(times.exposed_us for times in all_times),
        )
        for batch, all_times in sorted(by_batch.items())
    )
