from dataclasses import dataclass

from service.analysis.changepoints.changes import Regimes, confirmed_changes
from service.analysis.changepoints.dispersion import Spread, find_dispersion
from service.analysis.changepoints.drift import Slope, find_drift
from service.analysis.changepoints.parameters import Parameters
from service.analysis.changepoints.series import Series
from service.analysis.changepoints.spikes import Filtered, without_spikes


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that is confirmed of a series, and what it rests on."""

    series: Series
    filtered: Filtered
    regimes: Regimes
    drift: Slope | None
    dispersion: Spread | None


def judge(series: Series, parameters: Parameters) -> Judgement:
    """Judge a series of at least `fewest_points` nights. Nothing in it is left to chance."""
    filtered = without_spikes(series.scaled, parameters)
    regimes = confirmed_changes(series, filtered, parameters)
    return Judgement(
        series=series,
        filtered=filtered,
        regimes=regimes,
        drift=find_drift(series, filtered, regimes.starts, parameters),
        dispersion=find_dispersion(series, filtered, regimes.starts, parameters),
    )
