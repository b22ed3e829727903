"""A verdict in sentences."""

from collections.abc import Iterator

from service.analysis.changepoints.verdict import ChangePoint, Dispersion, Drift, Verdict

NO_RELATIVE = "effects are absolute only: the series is not positive throughout"


def too_few(found: int, needed: int) -> str:
    """Why nothing is judged."""
    return f"{found} of at least {needed} nights have a value: nothing is judged"


def reasons(verdict: Verdict) -> tuple[str, ...]:
    """Why it says what it says, one sentence for each finding."""
    return tuple(_sentences(verdict))


def _sentences(verdict: Verdict) -> Iterator[str]:
    if verdict.noise is not None and not verdict.noise.is_relative:
        yield NO_RELATIVE
    for point in verdict.change_points:
        yield _of_change(point)
    if verdict.drift is not None:
        yield _of_drift(verdict.drift)
    if verdict.dispersion is not None:
        yield _of_dispersion(verdict.dispersion)
    if verdict.spikes_are_rising:
        yield "the newest nights have more spikes than those before"
    newest = verdict.num_nights - 1
    if any(suspect.index == newest for suspect in verdict.suspects):
        yield f"night {newest} is far from the nights before it: measure it again"
    if verdict.num_missing:
        yield f"{verdict.num_missing} of {verdict.num_nights} nights are missing"


def _of_change(point: ChangePoint) -> str:
    nights = f"{point.num_before} nights before and {point.num_after} after"
    return (
        f"from night {point.index} on {_effect(point.effect_relative, point.effect_absolute)} "
        f"({point.before:.6g} to {point.after:.6g}), p {point.p:.1g} over {nights}"
        f"{_since(point.reported_night, point.withdrawn_night)}"
    )


def _of_drift(drift: Drift) -> str:
    return (
        f"drifts by {_effect(drift.effect_relative, drift.effect_absolute)} from night "
        f"{drift.start} to {drift.end}, p {drift.p:.1g}"
        f"{_since(drift.reported_night, drift.withdrawn_night)}"
    )


def _of_dispersion(spread: Dispersion) -> str:
    return (
        f"scatters {spread.ratio:.2g} times as much from night {spread.index} on, "
        f"p {spread.p:.1g}{_since(spread.reported_night, spread.withdrawn_night)}"
    )


def _effect(relative: float | None, absolute: float) -> str:
    return f"{absolute:+.6g}" if relative is None else f"{relative:+.2%}"


def _since(reported: int | None, withdrawn: int | None) -> str:
    told = "" if reported is None else f", reported on night {reported}"
    return told if withdrawn is None else f"{told}, withdrawn on night {withdrawn}"
