from dataclasses import dataclass

DETECTOR_VERSION = 1
"""Goes up with any change that can alter a verdict; every finding keeps the one it came from."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """All that the detector can be told. Nights are points that are not missing."""

    fewest_points: int = 12
    """Below it nothing is judged."""
    smallest_relative: float = 0.01
    """Least change worth confirming, of the level before; for positive series only."""
    smallest_absolute: float = 0.0
    """The same in the series' own unit; a change must reach both."""
    smallest_in_noise: float = 1.0
    """The same in standard deviations of the noise, where no relative change is defined."""

    suspect_reference: int = 20
    """Nights before that the newest is judged against."""
    fewest_reference: int = 6
    """With fewer of them a night is not suspected."""
    suspect_z: float = 3.0
    """How far off a suspect is at least, in robust standard deviations of those nights."""
    suspect_relative: float = 0.015
    """The same in their median, for positive series; a suspect is off by both."""

    spike_window: int = 7
    """Nights, itself in the middle, whose median a spike is far from."""
    spike_z: float = 4.0
    """How far at least, in robust standard deviations of a night."""
    longest_spike: int = 2
    """More nights in a row are no spike."""
    largest_spike_p: float = 1e-3
    """Of the newest nights having as many spikes by chance."""

    smallest_segment: int = 4
    """Fewest nights of a regime: no change is confirmed earlier."""
    longest_segment: int = 4096
    """Bounds the search in very long series; longer regimes are put together again."""
    proposal_penalty: float = 3.0
    """Of one more segment, in log(n) times the variance; generous, as each is then tested."""
    nights_per_side: int = 40
    """How far from a change its test looks."""
    largest_autocorrelation: float = 0.6
    """More is not believed: it is what undetected changes look like."""
    largest_p: float = 1e-3
    """Of a change, after correction for the search of its place."""
    least_superiority: float = 0.8
    """Share of pairs of nights, one from each side, that must agree with the change."""

    replay_nights: int = 400
    """How far back each night of a replay looks; what is older stays as it was told."""

    drift_nights: int = 200
    """How far back drift and spread are looked for."""
    fewest_drift_nights: int = 20
    smallest_drift: float = 0.02
    """Least drift from one end to the other, of the level at its start; for positive series."""
    largest_drift_p: float = 1e-4
    largest_dispersion_p: float = 1e-3
    """Both after correction for the search."""
    smallest_dispersion_ratio: float = 2.0
    """Least change of spread, the larger over the smaller."""
    dispersion_nights: int = 12
    """Fewest nights on each side of a change of spread."""


DEFAULTS = Parameters()
