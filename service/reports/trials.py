"""The trials behind a result, and every sample of them where they are asked for."""

from collections.abc import Mapping, Sequence

from service.analysis.steps import slowest_ns
from service.reports.result import RankSamples, ResultReport, TrialReport
from service.store.results import MeasuredTrial
from workers.contract.axes import Pass
from workers.contract.trial import PassSamples

Samples = Mapping[Pass, Sequence[PassSamples]]
"""Of one trial, each pass indexed by rank."""


def with_trials(
    result: ResultReport,
    trials: Sequence[MeasuredTrial],
    *,
    samples: Mapping[str, Samples] | None = None,
    profiled: Mapping[str, float] | None = None,
) -> ResultReport:
    """Show the trials behind a result and, where given by trial id, every sample of them. Pure."""
    given = samples or {}
    shown = tuple(
        _trial(trial, given.get(trial.id), profiled=(profiled or {}).get(trial.id))
        for trial in trials
    )
    steps = [
        ns / 1e3
        for trial in trials
        for ns in slowest_ns(given.get(trial.id, {}).get(Pass.CLEAN, ()))
    ]
    return result.model_copy(
        update={"trials": shown, "samples_us": None if samples is None else tuple(steps)}
    )


def _trial(trial: MeasuredTrial, samples: Samples | None, *, profiled: float | None) -> TrialReport:
    summary = trial.summary
    return TrialReport(
        id=trial.id,
        replicate=trial.replicate,
        attempt=trial.attempt,
        group_id=trial.group_id,
        group_kind=trial.group_kind,
        node=trial.node,
        link_class=trial.link_class,
        created_at=trial.created_at,
        environment=trial.environment,
        summary=summary,
        exposed_communication_us=summary.exposed_communication_us,
        communication_share=summary.communication_share,
        collective_share=summary.collective_share,
        stop_rule=trial.stop_rule,
        num_warmup_steps=trial.num_warmup_steps,
        perturbation=summary.perturbation,
        peak_memory_bytes=trial.peak_memory_bytes,
        quality=trial.quality,
        proof=trial.proof,
        hosts=trial.hosts,
        profiled_collective_share=profiled,
        wall_s=trial.wall_ns / 1e9,
        timed_s=trial.timed_ns / 1e9,
        samples=None if samples is None else _rank_samples(samples),
    )


def _rank_samples(samples: Samples) -> tuple[RankSamples, ...]:
    return tuple(
        RankSamples(
            pass_name=kind,
            rank=rank,
            step_us=tuple(ns / 1e3 for ns in steps.step_ns),
            forward_us=tuple(ns / 1e3 for ns in steps.forward_ns),
        )
        for kind, ranks in samples.items()
        for rank, steps in enumerate(ranks)
    )
