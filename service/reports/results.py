"""From the trials of a point to its result: the one reading path of API, pages and CLI."""

from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from sqlalchemy.orm import Session

from service.analysis import quality
from service.analysis.control import NOISY
from service.analysis.interval import estimate, estimate_signed
from service.analysis.summary import TrialSummary
from service.reports.control import control_report
from service.reports.estimates import EstimateReport, StepTimeReport, generator_of
from service.reports.forecasts import ForecastReport
from service.reports.result import (
    CollectiveReport,
    ControlReport,
    EstimatesReport,
    IdleReport,
    ResultReport,
)
from service.reports.trials import with_trials
from service.store import forecasts as stored_forecasts
from service.store import profiles as stored_profiles
from service.store import results as stored
from service.store import samples as stored_samples
from service.store.forecasts import Forecast
from service.store.pages import Page
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial
from workers.contract.axes import Collective, Pass
from workers.contract.bandwidth import algbw_gb_per_s, busbw_gb_per_s
from workers.contract.hardware import Environment
from workers.contract.memory import estimated_bytes
from workers.contract.point import PointSpec
from workers.contract.workload import flops_per_rank

MOST_PERTURBATION = 0.05
"""Above it the split into wire and wait is called rough."""


def page(
    session: Session, which: ResultFilter, *, limit: int, cursor: str | None = None
) -> Page[ResultReport]:
    """Results that match, newest sweep first, each in the order of its grid."""
    found = stored.page(session, which, limit=limit, cursor=cursor)
    forecasts = stored_forecasts.find_all(session, [point.point_id for point in found.items])
    items = tuple(
        report(point.trials, forecast=forecasts.get(point.point_id)) for point in found.items
    )
    return Page(items, found.next_cursor)


def find(session: Session, result_id: str, *, include_samples: bool = False) -> ResultReport:
    """One result with its trials. NotFoundError if there is none."""
    trials = stored.find(session, result_id).trials
    given = None
    if include_samples:
        given = {
            trial.id: stored_samples.find(session, trial.id, trial.point_id) for trial in trials
        }
    shares = stored_profiles.shares(session, [t.id for t in trials], point_id=result_id)
    forecast = stored_forecasts.find_all(session, [result_id]).get(result_id)
    shown = report(trials, forecast=forecast)
    return with_trials(shown, trials, samples=given, profiled=shares)


def report(trials: Sequence[MeasuredTrial], *, forecast: Forecast | None = None) -> ResultReport:
    """Report one point over its trials, at least one. Pure."""
    newest = max(trials, key=lambda trial: trial.created_at)
    summaries = [trial.summary for trial in trials]
    rng = generator_of(newest.spec_key)
    step, estimates = _step_time(summaries, rng), _estimates(summaries, rng)
    control = control_report(summaries, rng=rng)
    flags = _flags(trials, estimates, control)
    return ResultReport(
        id=newest.point_id,
        paired_with=newest.paired_with,
        sweep_id=newest.sweep_id,
        spec=newest.spec,
        spec_key=newest.spec_key,
        hardware=newest.hardware,
        hardware_key=newest.hardware_key,
        link_class=newest.link_class,
        environment=newest.environment,
        step_time_us=step,
        forward_time_us=estimates.forward_time_us.median,
        backward_time_us=estimates.backward_time_us.median,
        compute_time_us=estimates.compute_time_us.median,
        communication_time_us=_median(estimates.communication_time_us),
        standalone_communication_us=_median(estimates.standalone_communication_us),
        exposed_communication_us=estimates.exposed_communication_us.median,
        communication_share=max(0.0, estimates.communication_share.median),
        collective_share=_median(estimates.collective_share),
        estimates=estimates,
        idle=_idle(newest.spec, summaries),
        collectives=_collectives(newest.spec, summaries),
        control=control,
        tflop_per_s=flops_per_rank(newest.spec) / step.median / 1e6,
        tokens_per_s=newest.spec.num_tokens / step.median * 1e6,
        peak_memory_bytes=max(trial.peak_memory_bytes for trial in trials),
        estimated_memory_bytes=estimated_bytes(trials[0].spec),
        max_abs_error=max(trial.proof.max_abs_error for trial in trials),
        max_rel_error=max(trial.proof.max_rel_error for trial in trials),
        quality=flags,
        quality_notes=quality.explain(flags),
        num_replicates=len({trial.replicate for trial in trials}),
        stop_rules=tuple(sorted({trial.stop_rule for trial in trials})),
        num_warmup_steps=max(trial.num_warmup_steps for trial in trials),
        perturbation=_perturbation(trials),
        measured_at=newest.created_at,
        prediction=forecast and ForecastReport.of(forecast, measured_us=step.median),
    )


def _step_time(summaries: Sequence[TrialSummary], rng: np.random.Generator) -> StepTimeReport:
    found = estimate([summary.step_time_us for summary in summaries], rng=rng)
    return StepTimeReport(
        median=found.median,
        ci_low=found.low,
        ci_high=found.high,
        n=found.n,
        p10=median(summary.p10_us for summary in summaries),
        p90=median(summary.p90_us for summary in summaries),
        num_steps=sum(summary.num_steps for summary in summaries),
    )


def _estimates(summaries: Sequence[TrialSummary], rng: np.random.Generator) -> EstimatesReport:
    def time(values: Sequence[float]) -> EstimateReport:
        """A time; 0 where the step has no such part."""
        kind = estimate if min(values) > 0 else estimate_signed
        return EstimateReport.of(kind(values, rng=rng))

    def difference(values: Sequence[float]) -> EstimateReport:
        return EstimateReport.of(estimate_signed(values, rng=rng))

    def where_all_have(
        kind: Callable[[Sequence[float]], EstimateReport], values: Sequence[float | None]
    ) -> EstimateReport | None:
        known = [value for value in values if value is not None]
        return kind(known) if len(known) == len(values) else None

    return EstimatesReport(
        forward_time_us=time([s.forward_time_us for s in summaries]),
        backward_time_us=time([s.backward_time_us for s in summaries]),
        compute_time_us=time([s.compute_time_us for s in summaries]),
        communication_time_us=where_all_have(time, [s.communication_time_us for s in summaries]),
        exposed_communication_us=difference([s.exposed_communication_us for s in summaries]),
        communication_share=difference([s.communication_share for s in summaries]),
        collective_share=where_all_have(difference, [s.collective_share for s in summaries]),
        standalone_communication_us=where_all_have(
            time, [s.standalone_communication_us for s in summaries]
        ),
    )


def _median(estimated: EstimateReport | None) -> float | None:
    return None if estimated is None else estimated.median


def _idle(spec: PointSpec, summaries: Sequence[TrialSummary]) -> IdleReport | None:
    if spec.num_layers == 1:
        return None
    by_rank = zip(*(summary.idle_shares for summary in summaries), strict=True)
    return IdleReport(
        share_by_rank=tuple(median(shares) for shares in by_rank),
        ideal_share=(spec.num_layers - 1) / spec.num_layers,
    )


def _collectives(
    spec: PointSpec, summaries: Sequence[TrialSummary]
) -> tuple[CollectiveReport, ...]:
    """Collectives of equal kind, place and size are one line: how many, and the time of one."""
    times: dict[tuple[Collective, str, int, Pass], list[tuple[float, float]]] = {}
    for summary in summaries:
        for item in summary.collectives:
            key = (item.op, item.where, item.message_bytes, item.timed_in)
            times.setdefault(key, []).append((item.time_us, item.wait_us))
    lines = []
    for (op, where, message_bytes, timed_in), pairs in times.items():
        time_us = median(time for time, _ in pairs)
        algbw = busbw = None
        if time_us > 0:
            algbw = algbw_gb_per_s(message_bytes=message_bytes, time_us=time_us)
            busbw = busbw_gb_per_s(
                op, message_bytes=message_bytes, time_us=time_us, num_ranks=spec.tp_degree
            )
        lines.append(
            CollectiveReport(
                op=op,
                where=where,
                count_per_step=round(len(pairs) / len(summaries)),
                message_bytes=message_bytes,
                timed_in=timed_in,
                time_us=time_us,
                wait_us=median(wait for _, wait in pairs),
                algbw_gb_per_s=algbw,
                busbw_gb_per_s=busbw,
            )
        )
    return tuple(lines)


def _flags(
    trials: Sequence[MeasuredTrial], estimates: EstimatesReport, control: ControlReport | None
) -> tuple[str, ...]:
    """The workers' flags of any trial, and what only the trials together show."""
    flags = {flag for trial in trials for flag in trial.quality}
    exposed = estimates.exposed_communication_us
    lowest = exposed.median if exposed.ci_low is None else exposed.ci_low
    judged = {
        "single_replicate": len(trials) == 1,
        "perturbed": _perturbation(trials) > MOST_PERTURBATION,
        "proof_reduced": any(trial.proof.is_reduced for trial in trials),
        "exposed_not_resolved": trials[0].spec.tp_degree > 1 and lowest <= 0,
        "noisy_host": control is not None and control.noise_grade in NOISY,
        "mixed_versions": len({versions(trial.environment) for trial in trials}) > 1,
    }
    return tuple(sorted(flags | {flag for flag, holds in judged.items() if holds}))


def _perturbation(trials: Sequence[MeasuredTrial]) -> float:
    return median(trial.summary.perturbation for trial in trials)


def versions(environment: Environment) -> tuple[str | None, ...]:
    """The software that made a measurement."""
    seen = environment
    return (seen.torch, seen.cuda, seen.nccl, seen.driver, seen.python, seen.backend)
