"""What is told of a series. Indices count every night given, missing ones too, from 0."""

from enum import StrEnum

from workers.contract.frozen import Frozen


class Outcome(StrEnum):
    """In one word."""

    INSUFFICIENT_DATA = "insufficient_data"
    STEADY = "steady"
    SUSPECT = "suspect"
    """Nothing is confirmed, and the newest night is to be measured again."""
    CHANGED = "changed"
    """A change of level, a drift or a change of spread is confirmed."""


class ChangePoint(Frozen):
    """A confirmed change of level."""

    index: int
    """First night of the new level."""
    effect_relative: float | None
    """After over before, minus 1; None where the series is not positive throughout."""
    effect_absolute: float
    p: float
    """Two-sided, corrected for autocorrelation and for the search of the place."""
    before: float
    after: float
    """Median levels."""
    num_before: int
    num_after: int
    """Nights that it was judged by."""
    reported_night: int | None
    """The night that first told of it; only where the series was replayed."""
    withdrawn_night: int | None
    """The night from which on it was no longer found."""


class SuspectNight(Frozen):
    """A night that was suspect when it was the newest: measure again, best on another node."""

    index: int
    z: float
    """Robust standard deviations from the nights before."""
    effect_relative: float | None
    effect_absolute: float
    """Against the median of the nights before."""


class Spike(Frozen):
    """At most two nights that left and came back; they move no level."""

    index: int
    value: float
    usual: float
    """Median of its neighbourhood."""


class Drift(Frozen):
    """A slow change, better told as a line than as steps."""

    start: int
    end: int
    """Its first and last night."""
    effect_relative: float | None
    effect_absolute: float
    """From one end of the line to the other."""
    p: float
    reported_night: int | None
    withdrawn_night: int | None


class Dispersion(Frozen):
    """The series became noisier, or quieter."""

    index: int
    """First night of the new spread."""
    ratio: float
    """Spread after over before."""
    p: float
    reported_night: int | None
    withdrawn_night: int | None


class Noise(Frozen):
    """What the tests took for noise."""

    spread: float
    """Robust standard deviation of a night: of the level where `is_relative`."""
    is_relative: bool
    autocorrelation: float
    """Upper estimate, of one night with the next."""


class Verdict(Frozen):
    """Of one series by one version of the detector. The same series gives the same, bit by bit."""

    detector_version: int
    outcome: Outcome
    num_nights: int
    num_missing: int
    change_points: tuple[ChangePoint, ...]
    suspects: tuple[SuspectNight, ...]
    spikes: tuple[Spike, ...]
    spikes_are_rising: bool
    """Whether the newest nights have more spikes than chance brings."""
    drift: Drift | None
    dispersion: Dispersion | None
    noise: Noise | None
    """None where nothing could be judged."""
    reasons: tuple[str, ...]
    """The same for people, and what could not be said."""
