"""From what was found to the verdict: indices of nights, effects, sentences."""

import math
from collections.abc import Sequence

import numpy as np

from service.analysis.changepoints.changes import Change
from service.analysis.changepoints.dispersion import Spread
from service.analysis.changepoints.drift import Slope
from service.analysis.changepoints.judgement import Judgement
from service.analysis.changepoints.ledger import Ledger, Reported
from service.analysis.changepoints.parameters import DETECTOR_VERSION, Parameters
from service.analysis.changepoints.reasons import NO_RELATIVE, reasons, too_few
from service.analysis.changepoints.robust import median
from service.analysis.changepoints.series import Series
from service.analysis.changepoints.spikes import rising_rate
from service.analysis.changepoints.suspects import Suspect
from service.analysis.changepoints.verdict import (
    ChangePoint,
    Dispersion,
    Drift,
    Noise,
    Outcome,
    Spike,
    SuspectNight,
    Verdict,
)


def tell(
    found: Judgement, ledger: Ledger, suspects: Sequence[Suspect], parameters: Parameters
) -> Verdict:
    """Everything that was found, or was reported on an earlier night."""
    series, filtered = found.series, found.filtered
    verdict = Verdict(
        detector_version=DETECTOR_VERSION,
        outcome=_outcome(series, ledger, suspects),
        num_nights=series.num_given,
        num_missing=series.num_given - len(series),
        change_points=tuple(_change(series, item) for item in ledger.changes),
        suspects=tuple(_suspect(series, suspect) for suspect in suspects),
        spikes=tuple(
            _spike(series, place, parameters)
            for place in np.flatnonzero(filtered.is_spike).tolist()
        ),
        spikes_are_rising=rising_rate(filtered.is_spike) <= parameters.largest_spike_p,
        drift=None if ledger.drift is None else _drift(series, ledger.drift),
        dispersion=None if ledger.dispersion is None else _dispersion(series, ledger.dispersion),
        noise=Noise(
            spread=filtered.spread if series.is_positive else filtered.spread * series.size,
            is_relative=series.is_positive,
            autocorrelation=found.regimes.autocorrelation,
        ),
        reasons=(),
    )
    return verdict.model_copy(update={"reasons": reasons(verdict)})


def tell_too_few(series: Series, suspects: Sequence[Suspect], parameters: Parameters) -> Verdict:
    """Of a series that is too short to be judged."""
    says = (too_few(len(series), parameters.fewest_points),)
    return Verdict(
        detector_version=DETECTOR_VERSION,
        outcome=Outcome.INSUFFICIENT_DATA,
        num_nights=series.num_given,
        num_missing=series.num_given - len(series),
        change_points=(),
        suspects=tuple(_suspect(series, suspect) for suspect in suspects),
        spikes=(),
        spikes_are_rising=False,
        drift=None,
        dispersion=None,
        noise=None,
        reasons=says if series.is_positive else (*says, NO_RELATIVE),
    )


def _outcome(series: Series, ledger: Ledger, suspects: Sequence[Suspect]) -> Outcome:
    told = [*ledger.changes, ledger.drift, ledger.dispersion]
    if any(item is not None and item.withdrawn is None for item in told):
        return Outcome.CHANGED
    newest = len(series) - 1
    is_suspect = any(suspect.place == newest for suspect in suspects)
    return Outcome.SUSPECT if is_suspect else Outcome.STEADY


def _change(series: Series, item: Reported[Change]) -> ChangePoint:
    change = item.finding
    return ChangePoint(
        index=int(series.nights[change.place]),
        effect_relative=_relative(series, change.before, change.after),
        effect_absolute=change.after - change.before,
        p=change.p,
        before=change.before,
        after=change.after,
        num_before=change.num_before,
        num_after=change.num_after,
        reported_night=item.night,
        withdrawn_night=item.withdrawn,
    )


def _suspect(series: Series, suspect: Suspect) -> SuspectNight:
    value = float(series.raw[suspect.place])
    return SuspectNight(
        index=int(series.nights[suspect.place]),
        z=suspect.z,
        effect_relative=_relative(series, suspect.reference, value),
        effect_absolute=value - suspect.reference,
    )


def _spike(series: Series, place: int, parameters: Parameters) -> Spike:
    half = parameters.spike_window // 2
    around = series.raw[max(0, place - half) : place + half + 1]
    return Spike(
        index=int(series.nights[place]),
        value=float(series.raw[place]),
        usual=median(around),
    )


def _drift(series: Series, item: Reported[Slope]) -> Drift:
    slope = item.finding
    return Drift(
        start=int(series.nights[slope.start]),
        end=int(series.nights[slope.end - 1]),
        effect_relative=_relative(series, slope.before, slope.after),
        effect_absolute=slope.after - slope.before,
        p=slope.p,
        reported_night=item.night,
        withdrawn_night=item.withdrawn,
    )


def _dispersion(series: Series, item: Reported[Spread]) -> Dispersion:
    return Dispersion(
        index=int(series.nights[item.finding.place]),
        ratio=item.finding.ratio,
        p=item.finding.p,
        reported_night=item.night,
        withdrawn_night=item.withdrawn,
    )


def _relative(series: Series, before: float, after: float) -> float | None:
    """None where the series is not positive, or the quotient is no number."""
    if not series.is_positive or before <= 0:
        return None
    effect = after / before - 1
    return effect if math.isfinite(effect) else None
