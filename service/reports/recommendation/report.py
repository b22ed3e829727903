"""The TP degree to run a model with, for each hardware and batch, and why."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.memory_plan.plan import plan
from service.analysis.memory_plan.precision import Precision
from service.analysis.memory_plan.question import MemoryQuestion, Recomputation, judge
from service.analysis.recommendation.choice import (
    Candidate,
    Choice,
    Degree,
    Objective,
    choose,
)
from service.analysis.recommendation.evidence import Basis
from service.reports.estimates import EstimateReport
from service.reports.recommendation.evidence import (
    NEWEST_SWEEPS,
    NOTHING,
    PARTS,
    Measured,
    Question,
    by_turns_with_itself,
    gather,
)
from service.reports.recommendation.places import Place, find_places
from service.store.cases import cases, newest_points
from service.store.result_filter import ResultFilter
from service.store.timed import Timed, timed
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.frozen import Frozen
from workers.contract.point import LARGEST_TP_DEGREE
from workers.contract.whole_model import WholeModel

ALLOCATOR = 1.1
"""A tenth for allocator and framework, as for a point's estimate before it is queued."""

AMONG_CONTROLS = 10 * NEWEST_SWEEPS
"""Points that are read of a case with A/A controls, which add two for each sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the recommendation is for."""

    model: WholeModel
    hardware: tuple[str, ...]
    batches: tuple[int, ...]
    seq: int
    phase: Phase
    dtype: Dtype
    objective: Objective
    threshold: float
    blocks: tuple[Block, ...] = PARTS
    """What a prediction is made for; of results those blocks count that were measured."""


class CandidateReport(Frozen):
    """One TP degree, judged."""

    tp_degree: int
    is_possible: bool = Field(description="Divides, fits the memory and stays within a node.")
    needed_bytes: int | None = Field(
        description="Of one GPU, a tenth for the allocator included; null where it does not divide."
    )
    basis: Basis | None = Field(description="Of the step time; null where there is none.")
    label: str | None = Field(description="What exactly was measured or predicted.")
    step_time_us: float | None
    low_us: float | None = Field(
        description="Interval of the step time over replicates, or the band of its prediction; "
        "null of one replicate."
    )
    high_us: float | None
    communication_share: float | None
    is_undecided: bool = Field(
        default=False,
        description="Whether it may be better than the best smaller one, and may be worse: "
        "nobody can tell from this.",
    )
    over: int | None = Field(description="The smaller degree that the speed-up is against.")
    speed_up: EstimateReport | None
    reason: str


class RecommendationReport(Frozen):
    """For one hardware and batch."""

    model: str
    hardware: str
    hardware_key: str | None = Field(description="Null for hardware known from data sheets alone.")
    device_memory_bytes: int = Field(
        description="Of one device; 0 where it is not known: then every degree is taken to fit."
    )
    phase: Phase
    batch: int
    seq: int
    dtype: Dtype
    objective: Objective
    threshold: float = Field(description="Largest share of communication in a step.")
    tp_degree: int | None = Field(description="Null where no degree is possible.")
    basis: Basis | None = Field(description="Of the degree that is recommended.")
    candidates: tuple[CandidateReport, ...]
    sentence: str


def recommend(session: Session, asked: Asked) -> tuple[RecommendationReport, ...]:
    """Recommend for every hardware and batch; InvalidRequestError where hardware is unknown."""
    found = []
    for place in find_places(session, asked.hardware):
        measured = _measured(session, asked, place)
        found += [report(asked, place, batch, measured) for batch in asked.batches]
    return tuple(found)


def _measured(session: Session, asked: Asked, place: Place) -> Measured:
    if place.hardware_key is None:
        return NOTHING
    which = ResultFilter(
        models=(asked.model.layer.name,),
        phases=(asked.phase,),
        hardware_keys=(place.hardware_key,),
    )

    def newest(spec_keys: Collection[str], *, each: int) -> Sequence[Timed]:
        points = newest_points(session, which, spec_keys, each=each)
        # the ids alone would do, but without the keys SQLite begins at every point of the model
        own = replace(which, spec_keys=tuple(spec_keys), point_ids=points)
        return timed(session, own) if points else ()

    def read(spec_keys: Collection[str]) -> Sequence[Timed]:
        found = newest(spec_keys, each=NEWEST_SWEEPS + 1)  # one more shows both of a control
        controlled = by_turns_with_itself(found)
        others = [one for one in found if one.spec_key not in controlled]
        return [*others, *newest(controlled, each=AMONG_CONTROLS)]

    return Measured(cases(session, which), read)


def report(asked: Asked, place: Place, batch: int, measured: Measured) -> RecommendationReport:
    """Recommend for one hardware and batch from what was measured there. Pure."""
    numbers = _powers_of_two(2 * place.room.num_devices)
    question = Question(asked.model.layer, asked.phase, batch, asked.seq, asked.dtype, asked.blocks)
    degrees = [_degree(asked, number, batch) for number in numbers]
    divides = [one.tp_degree for one in degrees if one.obstacle is None]
    choice = choose(
        degrees,
        gather(question, measured, divides, place.predict),
        room=place.room,
        objective=asked.objective,
        threshold=asked.threshold,
        rng=np.random.default_rng(batch),
    )
    return _publish(asked, place, batch, choice)


def _powers_of_two(largest: int) -> list[int]:
    return [2**k for k in range(7) if 2**k <= min(largest, LARGEST_TP_DEGREE)]


def _degree(asked: Asked, tp_degree: int, batch: int) -> Degree:
    """Plan its memory: training with ZeRO stage 0 and selective recomputation."""
    is_training = asked.phase.has_backward
    question = MemoryQuestion(
        model=asked.model,
        phase=asked.phase,
        precision=_precision(asked.dtype, is_training=is_training),
        tp_degree=tp_degree,
        recomputation=Recomputation.SELECTIVE if is_training else Recomputation.NONE,
        batch=batch,
        seq=asked.seq,
    )
    if obstacle := judge(question):
        return Degree(tp_degree, obstacle.reason, None)
    return Degree(tp_degree, None, round(plan(question).total_bytes * ALLOCATOR))


def _precision(dtype: Dtype, *, is_training: bool) -> Precision:
    if dtype is Dtype.FLOAT32:
        return Precision.FLOAT32
    return Precision(f"{dtype}_mixed") if is_training else Precision(dtype)


def _publish(asked: Asked, place: Place, batch: int, choice: Choice) -> RecommendationReport:
    chosen = next(
        (one for one in choice.candidates if one.degree.tp_degree == choice.tp_degree), None
    )
    basis = chosen.evidence.basis if chosen and chosen.evidence else None
    return RecommendationReport(
        model=asked.model.layer.name,
        hardware=place.name,
        hardware_key=place.hardware_key,
        device_memory_bytes=place.room.memory_bytes,
        phase=asked.phase,
        batch=batch,
        seq=asked.seq,
        dtype=asked.dtype,
        objective=asked.objective,
        threshold=asked.threshold,
        tp_degree=choice.tp_degree,
        basis=basis,
        candidates=tuple(_candidate(one) for one in choice.candidates),
        sentence=_sentence(asked, place, batch, chosen) + _undecided(choice),
    )


def _undecided(choice: Choice) -> str:
    """Which degrees may be better than the chosen one: not what was in doubt against a smaller."""
    numbers = [
        str(one.degree.tp_degree)
        for one in choice.candidates
        if one.is_undecided and one.over == choice.tp_degree
    ]
    return f"; whether {' or '.join(numbers)} is better cannot be told" if numbers else ""


def _candidate(one: Candidate) -> CandidateReport:
    known = one.evidence
    ends = known and known.ends
    return CandidateReport(
        tp_degree=one.degree.tp_degree,
        is_possible=one.is_possible,
        needed_bytes=one.degree.needed_bytes,
        basis=known and known.basis,
        label=known and known.label,
        step_time_us=known and known.step_us,
        low_us=ends and ends.low_us,
        high_us=ends and ends.high_us,
        communication_share=known and known.communication_share,
        is_undecided=one.is_undecided,
        over=one.over,
        speed_up=one.speed_up and EstimateReport.of(one.speed_up),
        reason=one.reason,
    )


def _sentence(asked: Asked, place: Place, batch: int, chosen: Candidate | None) -> str:
    where = (
        f"{asked.model.layer.name} {asked.phase} on {place.name}, batch {batch}, seq {asked.seq}"
    )
    if chosen is None:
        return f"{where}: no tp_degree is possible"
    known = chosen.evidence
    source = f"{known.basis} ({known.label})" if known else "by memory alone"
    return f"{where}: tp_degree {chosen.degree.tp_degree} for {asked.objective}, {source}"
