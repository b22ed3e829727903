"""What the control tells: how noisy the host was, and how much of a step's change is the host's.

Noise has one unit, the width of the middle half of the values relative to their median, as torch's
and nvbench's timers judge it. Within a trial it is taken from the control's steps; between trials
from their medians, as 1.349 standard deviations of the logarithms, which is that width for a normal
distribution. The larger of the two, of the noisier control pass, is graded.

A host that runs its products slower by a factor g and its collectives by h makes a step longer by
about (1-c) g + c h, where c is the share of communication in the step; near 1 that is g^(1-c) h^c.
This factor against a quiet moment is the *slowdown*, and the step divided by it is the
control-normalised step. The quiet moment is the shortest control step there is: of all locations
the minimum varies least from process to process on a shared host. Where no collective was timed,
the host is taken to slow what is sent as much as its products: h is g.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log

import numpy as np

from service.analysis.spread import standard_deviation
from workers.contract.frozen import Frozen

SIGMAS_OF_MIDDLE_HALF = 1.349


class NoiseGrade(StrEnum):
    """How much the control varied: A at most 10 %, B 25 % (torch warns from each), C 50 %."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


LIMITS = ((NoiseGrade.A, 0.10), (NoiseGrade.B, 0.25), (NoiseGrade.C, 0.50))

NOISY = frozenset({NoiseGrade.C, NoiseGrade.D})
"""Grades that are flagged."""


class ControlTime(Frozen):
    """One control pass of a trial, slowest rank."""

    median_us: float
    min_us: float
    dispersion: float
    """Width of the middle half of the steps over their median."""
    num_steps: int


class ControlSummary(Frozen):
    """The control of one trial."""

    version: int
    gemm: ControlTime
    collective: ControlTime | None
    """None at tp_degree 1, and where it would be of another implementation than the point's."""


@dataclass(frozen=True, slots=True)
class Noise:
    """How much the control varied over the trials of a point."""

    within: float
    between: float | None
    """None where one trial cannot tell."""
    grade: NoiseGrade


@dataclass(frozen=True, slots=True)
class Reference:
    """The quiet moment that controls are compared with."""

    gemm_us: float
    collective_us: float | None


def control_time(steps_ns: Sequence[int]) -> ControlTime:
    """Summarise the steps of one control pass, at least one."""
    low, middle, high = (float(q) / 1e3 for q in np.quantile(steps_ns, (0.25, 0.5, 0.75)))
    return ControlTime(
        median_us=middle,
        min_us=min(steps_ns) / 1e3,
        dispersion=(high - low) / middle,
        num_steps=len(steps_ns),
    )


def noise(controls: Sequence[ControlSummary]) -> Noise:
    """Grade the controls of a point's trials, at least one."""
    passes = _by_pass(controls)
    within = max(statistics.median(time.dispersion for time in times) for times in passes)
    between = None
    if len(controls) > 1:
        spreads = (standard_deviation([log(time.median_us) for time in times]) for times in passes)
        between = SIGMAS_OF_MIDDLE_HALF * max(spreads)
    worst = max(within, between or 0)
    grade = next((grade for grade, limit in LIMITS if worst <= limit), NoiseGrade.D)
    return Noise(within=within, between=between, grade=grade)


def reference(controls: Sequence[ControlSummary]) -> Reference | None:
    """The quiet moment of these controls; None where there is none, or their versions differ.

    Collectives have one where all of the controls timed them.
    """
    if len({control.version for control in controls}) != 1:
        return None
    collectives = [control.collective.min_us for control in controls if control.collective]
    return Reference(
        gemm_us=min(control.gemm.min_us for control in controls),
        collective_us=min(collectives) if len(collectives) == len(controls) else None,
    )


def slowdown(control: ControlSummary, quiet: Reference, *, communication_share: float) -> float:
    """Factor by which the host made the step longer than at the quiet moment; see above."""
    share = min(max(communication_share, 0.0), 1.0)
    logarithm = log(control.gemm.median_us / quiet.gemm_us)
    if control.collective is not None and quiet.collective_us is not None:
        sent = log(control.collective.median_us / quiet.collective_us)
        logarithm = (1 - share) * logarithm + share * sent
    return exp(logarithm)


def _by_pass(controls: Sequence[ControlSummary]) -> list[list[ControlTime]]:
    """Each pass over the trials that all have it."""
    passes = [[control.gemm for control in controls]]
    collectives = [control.collective for control in controls if control.collective]
    if len(collectives) == len(controls):
        passes.append(collectives)
    return passes
