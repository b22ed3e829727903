"""The control of a point over its trials, as a result shows it."""

from collections.abc import Sequence
from statistics import median

import numpy as np

from service.analysis.control import noise, reference, slowdown
from service.analysis.interval import estimate
from service.analysis.summary import TrialSummary
from service.reports.estimates import EstimateReport
from service.reports.result import ControlReport
from service.store.timed import Timed


def control_report(
    summaries: Sequence[TrialSummary], *, rng: np.random.Generator
) -> ControlReport | None:
    """Report the control of a point's trials; None where one of them has none. Pure."""
    controls = [summary.control for summary in summaries if summary.control]
    if len(controls) < len(summaries):
        return None
    found = noise(controls)
    collectives = [control.collective.median_us for control in controls if control.collective]
    return ControlReport(
        version=controls[0].version,
        gemm_time_us=median(control.gemm.median_us for control in controls),
        collective_time_us=median(collectives) if collectives else None,
        noise_within=found.within,
        noise_between=found.between,
        noise_grade=found.grade,
        normalised_step_time_us=_normalised(summaries, rng),
    )


def slowdowns(trials: Sequence[TrialSummary | Timed]) -> list[float] | None:
    """How much longer the host made each step of one point; None where controls do not compare."""
    controls = [trial.control for trial in trials if trial.control]
    quiet = reference(controls) if len(controls) == len(trials) else None
    if quiet is None:
        return None
    share = median(trial.communication_share for trial in trials)
    return [slowdown(control, quiet, communication_share=share) for control in controls]


def _normalised(
    summaries: Sequence[TrialSummary], rng: np.random.Generator
) -> EstimateReport | None:
    factors = slowdowns(summaries)
    if factors is None:
        return None
    steps = [one.step_time_us / factor for one, factor in zip(summaries, factors, strict=True)]
    return EstimateReport.of(estimate(steps, rng=rng))
