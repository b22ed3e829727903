"""Evidence for each TP degree of a model: from stored trials, and from a predictor where none."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import median
from typing import Final, Self

import numpy as np

from service.analysis.interval import estimate
from service.analysis.recommendation.evidence import (
    Basis,
    Ends,
    Errors,
    Evidence,
    Predicted,
    Predictor,
)
from service.store.cases import Case
from service.store.timed import Timed
from workers.contract.axes import Arrangement, Block, CollectiveImpl, Dtype, Launch, Overlap, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape

PARTS = (Block.ATTENTION, Block.MLP)
NEWEST_SWEEPS = 3
"""That count of each degree: what was measured nightly for a year is not read for one answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """The step that a recommendation is about: one layer, or its parts."""

    layer: ModelShape
    phase: Phase
    batch: int
    seq: int
    dtype: Dtype
    blocks: tuple[Block, ...] = PARTS

    def spec(self, block: Block, tp_degree: int) -> PointSpec:
        """One block of it at one degree."""
        return PointSpec(
            model=self.layer,
            block=block,
            phase=self.phase,
            tp_degree=tp_degree,
            batch=self.batch,
            seq=self.seq,
            dtype=self.dtype,
        )

    @property
    def label(self) -> str:
        """In a few words."""
        return f"{' + '.join(self.blocks)}, batch {self.batch}, seq {self.seq}, {self.dtype}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a model on one hardware."""

    cases: Sequence[Case]
    read: Callable[[Collection[str]], Sequence[Timed]]
    """The trials of these spec_keys."""

    @classmethod
    def of(cls, trials: Sequence[Timed]) -> Self:
        """What is at hand."""
        cases = {trial.spec_key: Case(trial.spec_key, trial.spec) for trial in trials}
        return cls(
            tuple(cases.values()), lambda keys: [one for one in trials if one.spec_key in keys]
        )


NOTHING: Final = Measured((), lambda _: ())


def gather(
    question: Question,
    measured: Measured,
    degrees: Iterable[int],
    predict: Predictor | None,
) -> dict[int, Evidence]:
    """Measured at the nearest batch and sequence that two degrees have; predicted for the rest."""
    usable = [case for case in measured.cases if _is_of(case.spec, question)]
    nearest = _nearest(question, usable)
    found: dict[int, Evidence] = {}
    if nearest is not None:
        question = nearest
        trials = measured.read(_keys(question, usable))
        for degree in {trial.spec.tp_degree for trial in trials}:
            if one := _measured(question, trials, degree):
                found[degree] = one
    for degree in degrees:
        if degree not in found and predict and (one := _predicted(question, degree, predict)):
            found[degree] = one
    return found


def _is_of(spec: PointSpec, question: Question) -> bool:
    return (
        spec.model.nameless == question.layer.nameless
        and spec.phase is question.phase
        and spec.arrangement is Arrangement.COLUMN_ROW
        and spec.collective_impl is CollectiveImpl.BACKEND
        and spec.overlap is Overlap.NONE
        and spec.launch is Launch.EAGER
    )


def _keys(question: Question, cases: Sequence[Case]) -> set[str]:
    """What the question's own points, at any degree, were stored by."""
    degrees = {case.spec.tp_degree for case in cases}
    own = {question.spec(block, degree).spec_key for block in question.blocks for degree in degrees}
    return {case.spec_key for case in cases if case.spec.spec_key in own}


def _nearest(question: Question, cases: Sequence[Case]) -> Question | None:
    """The blocks, batch, sequence and dtype closest to what is asked, of what two degrees have."""
    degrees: dict[tuple[int, int, Dtype], dict[Block, set[int]]] = {}
    for spec in (case.spec for case in cases):
        where = degrees.setdefault((spec.batch, spec.seq, spec.dtype), {})
        where.setdefault(spec.block, set()).add(spec.tp_degree)
    candidates = [
        Question(question.layer, question.phase, batch, seq, dtype, blocks)
        for (batch, seq, dtype), by_block in degrees.items()
        if (blocks := _comparable(by_block))
    ]
    return min(candidates, key=lambda one: _distance(question, one), default=None)


def _comparable(by_block: Mapping[Block, set[int]]) -> tuple[Block, ...]:
    """Whole layers, else both parts of one, else the one part there is, at two degrees or more."""
    for blocks in ((Block.LAYER,), PARTS, (Block.MLP,), (Block.ATTENTION,)):
        if len(set.intersection(*(by_block.get(block, set()) for block in blocks))) > 1:
            return blocks
    return ()


def _distance(asked: Question, there: Question) -> tuple[float, bool, int]:
    away = abs(log(there.batch / asked.batch)) + abs(log(there.seq / asked.seq))
    return away, there.dtype is not asked.dtype, -len(there.blocks)


def by_turns_with_itself(trials: Iterable[Timed]) -> set[str]:
    """Keys of what a sweep has two results of in one replicate: an A/A control."""
    found = Counter((one.spec_key, one.sweep_id, one.replicate) for one in trials)
    return {spec_key for (spec_key, *_), count in found.items() if count > 1}


def _whole(
    question: Question, trials: Sequence[Timed], degree: int
) -> dict[tuple[str, int], list[Timed]]:
    """Of the newest sweeps each replicate that measured every block, and once: no A/A control."""
    by_replicate: dict[tuple[str, int], list[Timed]] = {}
    for trial in trials:
        if trial.spec.tp_degree == degree:
            by_replicate.setdefault((trial.sweep_id, trial.replicate), []).append(trial)
    blocks = sorted(question.blocks)
    whole = {
        key: own
        for key, own in by_replicate.items()
        if sorted(one.spec.block for one in own) == blocks
    }
    newest = sorted({sweep_id for sweep_id, _ in whole})[-NEWEST_SWEEPS:]
    return {key: own for key, own in whole.items() if key[0] in newest}


def _measured(question: Question, trials: Sequence[Timed], degree: int) -> Evidence | None:
    whole = _whole(question, trials, degree)
    if not whole:
        return None
    steps = {key: sum(one.step_time_us for one in own) for key, own in whole.items()}
    known = estimate(list(steps.values()), rng=np.random.default_rng(degree))
    shares = [
        sum(one.exposed_communication_us for one in own) / steps[key] for key, own in whole.items()
    ]
    return Evidence(
        basis=Basis.MEASURED,
        step_us=known.median,
        ends=None if known.low is None or known.high is None else Ends(known.low, known.high),
        communication_share=max(median(shares), 0),
        label=question.label,
        replicates=steps,
    )


def _predicted(question: Question, degree: int, predict: Predictor) -> Evidence | None:
    parts: list[Predicted] = []
    for block in question.blocks:
        if (one := predict(question.spec(block, degree))) is None:
            return None
        parts.append(one)
    step_us = sum(one.step_us for one in parts)
    return Evidence(
        basis=Basis.PREDICTED,
        step_us=step_us,
        ends=Ends(sum(one.low_us for one in parts), sum(one.high_us for one in parts)),
        communication_share=sum(one.communication_share * one.step_us for one in parts) / step_us,
        label=f"{question.label}, {parts[0].label}",
        errors=Errors.added([one.errors for one in parts]),
    )
