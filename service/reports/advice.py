"""Which TP degree to run a model with, by a sweep that was measured to answer just that.

Where the layer that was measured is not the asked one but a smaller one of its ratios, the asked
one's figures are predictions from what was measured, and say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field, Strict
from sqlalchemy.orm import Session

from service.analysis.breakeven import Times, compute_overtakes, pays_from
from service.analysis.interval import estimate
from service.analysis.recommendation.choice import DEFAULT_THRESHOLD, Objective
from service.reports import sentences
from service.reports.advice_caveats import of_memory, of_prediction
from service.reports.advice_layers import of_the_largest, refusal
from service.reports.breakeven import CrossingReport, crossing_report
from service.reports.estimates import EstimateReport, generator_of
from service.reports.recommendation.evidence import PARTS, Measured
from service.reports.recommendation.places import Place, find_places
from service.reports.recommendation.report import Asked, RecommendationReport
from service.reports.recommendation.report import report as recommend
from service.store import sweeps
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.catalogue import AnyWholeModel
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape

Replicates = dict[tuple[str, int], dict[int, Times]]
"""Steps of one degree, by sweep and replicate, then by batch."""


class AdviceRequest(Frozen):
    """The model, and the sweep that was measured for it."""

    model: AnyWholeModel
    sweep: str = Field(min_length=1, max_length=200, description="As `POST /v1/advice/plan` asked.")
    objective: Objective = Objective.LATENCY
    threshold: Annotated[float, Strict()] = Field(
        default=DEFAULT_THRESHOLD, gt=0, lt=1, description="Largest share of communication."
    )


class MeasuredStep(Frozen):
    """The measured layer at one batch."""

    batch: int
    step_time_us: EstimateReport


class AdviceCurve(Frozen):
    """The measured layer at one TP degree."""

    tp_degree: int
    steps: tuple[MeasuredStep, ...]


class AdviceCrossing(Frozen):
    """From which batch on a degree is faster than the next smaller one."""

    tp_degree: int
    pays_against: int
    pays_from: CrossingReport
    sentence: str


class AdviceReport(Frozen):
    """The advice, batch by batch, and what was measured for it."""

    model: str
    hardware: str
    phase: Phase
    seq: int
    dtype: Dtype
    measured: ModelShape = Field(description="The layer that was measured.")
    is_asked: bool = Field(description="Whether it is the asked one; else that one is predicted.")
    curves: tuple[AdviceCurve, ...]
    crossings: tuple[AdviceCrossing, ...]
    fits: bool = Field(
        description="Whether the whole model fits the memory here at any degree; if not, the "
        "advice is by step times alone."
    )
    recommendations: tuple[RecommendationReport, ...] = Field(description="One for each batch.")
    quality: tuple[str, ...] = Field(description="What disturbed any of the trials.")
    sentences: tuple[str, ...]


def advise(session: Session, request: AdviceRequest) -> AdviceReport:
    """Answer from the sweep's results. InvalidRequestError where they do not hold an answer."""
    sweeps.check_known(session, request.sweep)
    trials = measured(session, ResultFilter(sweep_ids=(request.sweep,)))
    if not trials:
        raise refusal(f"sweep {request.sweep} has measured nothing")
    (place, *_) = find_places(session, (trials[0].hardware_key,))
    return report(request, place, trials)


def report(request: AdviceRequest, place: Place, trials: Sequence[MeasuredTrial]) -> AdviceReport:
    """Advise by trials of one layer, phase, sequence and dtype. Pure but for the predictor."""
    trials = of_the_largest(trials)
    spec = trials[0].spec
    is_asked = spec.model.nameless == request.model.layer.nameless
    by_degree = _by_degree(trials)
    flags = tuple(sorted({flag for trial in trials for flag in trial.quality}))
    crossings = _crossings(spec, by_degree, flags)
    asked = _asked(request, spec, sorted({trial.spec.batch for trial in trials}))
    fits, found = _recommendations(asked, place, trials if is_asked else ())
    curves = _curves(by_degree)
    return AdviceReport(
        model=request.model.layer.name,
        hardware=place.name,
        phase=spec.phase,
        seq=spec.seq,
        dtype=spec.dtype,
        measured=spec.model,
        is_asked=is_asked,
        curves=curves,
        crossings=crossings,
        fits=fits,
        recommendations=found,
        quality=flags,
        sentences=(
            *(one.sentence for one in crossings),
            *(
                []
                if is_asked
                else of_prediction(request.model, spec.model, found, _medians(curves))
            ),
            *([] if fits else of_memory(request.model, found)),
        ),
    )


def _asked(request: AdviceRequest, spec: PointSpec, batches: Sequence[int]) -> Asked:
    return Asked(
        model=request.model,
        hardware=(),
        batches=tuple(batches),
        seq=spec.seq,
        phase=spec.phase,
        dtype=spec.dtype,
        objective=request.objective,
        threshold=request.threshold,
        blocks=PARTS if request.model.layer.parallel_block else (Block.LAYER,),
    )


def _by_degree(trials: Sequence[MeasuredTrial]) -> dict[int, Replicates]:
    """Steps of the whole layer: of its parts added up, where all of them were measured."""
    blocks = {trial.spec.block for trial in trials}
    parts: dict[tuple[int, tuple[str, int], int], list[MeasuredTrial]] = {}
    for trial in trials:
        place = (trial.spec.tp_degree, (trial.sweep_id, trial.replicate), trial.spec.batch)
        parts.setdefault(place, []).append(trial)
    found: dict[int, Replicates] = {}
    for (degree, replicate, batch), own in sorted(parts.items()):
        if len(own) == len(blocks):
            by_batch = found.setdefault(degree, {}).setdefault(replicate, {})
            by_batch[batch] = Times(
                step_us=sum(one.summary.step_time_us for one in own),
                compute_us=sum(one.summary.compute_time_us for one in own),
            )
    return found


def _curves(by_degree: Mapping[int, Replicates]) -> tuple[AdviceCurve, ...]:
    curves = []
    for degree, replicates in by_degree.items():
        by_batch: dict[int, list[float]] = {}
        for own in replicates.values():
            for batch, times in own.items():
                by_batch.setdefault(batch, []).append(times.step_us)
        steps = tuple(
            MeasuredStep(
                batch=batch,
                step_time_us=EstimateReport.of(
                    estimate(values, rng=generator_of(f"{degree}/{batch}"))
                ),
            )
            for batch, values in sorted(by_batch.items())
        )
        curves.append(AdviceCurve(tp_degree=degree, steps=steps))
    return tuple(curves)


def _crossings(
    spec: PointSpec, by_degree: Mapping[int, Replicates], flags: Sequence[str]
) -> tuple[AdviceCrossing, ...]:
    found = []
    for degree in sorted(by_degree)[1:]:
        smaller = max(one for one in by_degree if one < degree)
        own = by_degree[degree]
        overtakes = compute_overtakes(own)
        pays = pays_from(own, smaller_degree=by_degree[smaller])
        if overtakes is None or pays is None:
            continue
        at = spec.model_copy(update={"tp_degree": degree, "block": Block.LAYER})
        found.append(
            AdviceCrossing(
                tp_degree=degree,
                pays_against=smaller,
                pays_from=crossing_report(
                    pays, above=f"tp_degree {degree}", below=f"tp_degree {smaller}"
                ),
                sentence=sentences.break_even(at, overtakes, pays, smaller=smaller, flags=flags),
            )
        )
    return tuple(found)


def _recommendations(
    asked: Asked, place: Place, trials: Sequence[MeasuredTrial]
) -> tuple[bool, tuple[RecommendationReport, ...]]:
    """Whether the model fits, and what to do; as if it fitted, where it does not."""
    measured = Measured.of(trials)
    found = tuple(recommend(asked, place, batch, measured) for batch in asked.batches)
    fits = any(one.tp_degree is not None for one in found)
    if fits:
        return True, found
    needed = max((c.needed_bytes or 0 for one in found for c in one.candidates), default=0)
    roomy = replace(place, room=replace(place.room, memory_bytes=needed))
    return False, tuple(recommend(asked, roomy, batch, measured) for batch in asked.batches)


def _medians(curves: Sequence[AdviceCurve]) -> dict[tuple[int, int], float]:
    """By degree and batch."""
    return {
        (curve.tp_degree, step.batch): step.step_time_us.median
        for curve in curves
        for step in curve.steps
    }
