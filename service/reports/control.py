"""The control of a point over its trials, as a result shows it."""

from collections.abc import Sequence
from statistics import median

import numpy as np

from service.analysis.control import noise, reference, slowdown
from service.analysis.interval import estimate
from service.analysis.summary import TrialSummary
from service.reports.estimates import EstimateReport
from service.reports.result import ControlReport


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


def _normalised(
    summaries: Sequence[TrialSummary], rng: np.random.Generator
) -> EstimateReport | None:
    quiet = reference([summary.control for summary in summaries if summary.control])
    if quiet is None:
        return None
    share = median(summary.communication_share for summary in summaries)
    steps = [
        summary.step_time_us / slowdown(summary.control, quiet, communication_share=share)
        for summary in summaries
        if summary.control
    ]
    return EstimateReport.of(estimate(steps, rng=rng))
