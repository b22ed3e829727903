"""What the detector says of one series, as changes that a finding can rest on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from service.analysis.changepoints.detector import detect
from service.analysis.changepoints.ledger import SAME_CHANGE
from service.analysis.changepoints.verdict import ChangePoint, Verdict
from service.analysis.findings.fleet import Shift
from service.analysis.findings.history import CaseSeries, Nights

LEVEL_NIGHTS = 20
"""Nights on each side that the control-normalised levels are taken from."""


class FindingKind(StrEnum):
    """What changed about a series."""

    LEVEL = "level"
    DRIFT = "drift"
    DISPERSION = "dispersion"
    """It scatters more, or less; the effect is the ratio of the spreads minus 1."""
    FLAKY = "flaky"
    """Of a node, unlike its peers: far too slow now and then; the effect is that of those nights,
    before and after are its usual and its wild ones."""
    MISSING = "missing"
    """Of a node: its peers measured and it did not; the effect is the share of it that is gone."""


OF_A_NODE = frozenset({FindingKind.FLAKY, FindingKind.MISSING})
"""Kinds that no level shows and only peers tell; they are never for the better."""


class Measure(StrEnum):
    """Which series of a case shows it."""

    RAW = "raw"
    NORMALISED = "normalised"
    """Only the control-normalised one does: in the raw one the host's noise hides it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One change of one series."""

    kind: FindingKind
    shift: Shift
    measure: Measure
    is_confirmed: bool
    """False for the newest nights alone looking wrong: measure again."""
    p: float | None
    """None of what is not confirmed, where z tells how far off the newest night is."""
    z: float | None
    before: float | None
    after: float | None
    """Levels in microseconds."""
    num_before: int | None
    num_after: int | None
    """Nights that it was judged by."""
    returned_night: int | None = None
    """The first night of a confirmed level that is back where it was before."""


def evidence_of(series: CaseSeries) -> list[Evidence]:
    """Everything about a series that a finding can rest on."""
    verdict = detect(series.raw)
    levels = _levels(series, verdict, Measure.RAW)
    if series.normalised is not None:
        hidden = _levels(series, detect(series.normalised), Measure.NORMALISED)
        levels += [one for one in hidden if not any(_is_same(one, other) for other in levels)]
    return [*levels, *_suspicion(series, verdict, levels), *_others(series, verdict)]


def _levels(series: CaseSeries, verdict: Verdict, measure: Measure) -> list[Evidence]:
    """Confirmed changes of level; one that only undoes another is that one's return."""
    standing: list[tuple[ChangePoint, Evidence]] = []
    for point in verdict.change_points:
        undone = next((i for i, (old, of) in _open(standing) if _undoes(old, point)), None)
        if undone is None:
            standing.append((point, _level(series, point, measure)))
        else:
            old, of = standing[undone]
            standing[undone] = (old, replace(of, returned_night=point.index))
    return [of for _, of in standing]


def _open(
    standing: Sequence[tuple[ChangePoint, Evidence]],
) -> list[tuple[int, tuple[ChangePoint, Evidence]]]:
    """Those that nothing has undone, newest first."""
    numbered = [(i, one) for i, one in enumerate(standing) if one[1].returned_night is None]
    return numbered[::-1]


def _undoes(old: ChangePoint, new: ChangePoint) -> bool:
    opposite = (old.effect_absolute < 0) != (new.effect_absolute < 0)
    return opposite and abs(new.after - old.before) < abs(old.effect_absolute) / 2


def _level(series: CaseSeries, point: ChangePoint, measure: Measure) -> Evidence:
    return Evidence(
        kind=FindingKind.LEVEL,
        shift=_shift(series, point.index, point.effect_relative),
        measure=measure,
        is_confirmed=True,
        p=point.p,
        z=None,
        before=point.before,
        after=point.after,
        num_before=point.num_before,
        num_after=point.num_after,
    )


def _suspicion(
    series: CaseSeries, verdict: Verdict, levels: Sequence[Evidence]
) -> Iterator[Evidence]:
    """The newest nights in a row that look wrong in one direction, unless that is confirmed."""
    run = [one for one in verdict.suspects if one.index == verdict.num_nights - 1]
    if not run or run[0].effect_relative is None:
        return
    newest = run[0]
    known = [night for night in range(verdict.num_nights) if series.raw[night] is not None]
    far = {one.index for one in verdict.suspects if (one.z < 0) == (newest.z < 0)}
    start = newest.index
    for night in reversed(known):
        if night not in far:
            break
        start = night
    value = series.raw[newest.index]
    reference = None if value is None else value - newest.effect_absolute
    found = Evidence(
        kind=FindingKind.LEVEL,
        shift=_shift(series, start, newest.effect_relative),
        measure=Measure.RAW,
        is_confirmed=False,
        p=None,
        z=newest.z,
        before=reference,
        after=value,
        num_before=None,
        num_after=newest.index - start + 1,
    )
    if not any(_is_same(found, level) or _is_back(found, level) for level in levels):
        yield found


def _others(series: CaseSeries, verdict: Verdict) -> Iterator[Evidence]:
    drift, spread = verdict.drift, verdict.dispersion
    if drift is not None and drift.effect_relative is not None:
        shift = _shift(series, drift.start, drift.effect_relative)
        yield _plain(FindingKind.DRIFT, shift, drift.p)
    if spread is not None:
        shift = Shift(series.node, series.case, spread.index, spread.ratio - 1)
        yield _plain(FindingKind.DISPERSION, shift, spread.p)


def _plain(kind: FindingKind, shift: Shift, p: float) -> Evidence:
    return Evidence(
        kind=kind,
        shift=shift,
        measure=Measure.RAW,
        is_confirmed=True,
        p=p,
        z=None,
        before=None,
        after=None,
        num_before=None,
        num_after=None,
    )


def _shift(series: CaseSeries, night: int, effect: float | None) -> Shift:
    left = None if series.normalised is None else _effect(series.normalised, night)
    return Shift(series.node, series.case, night, effect or 0.0, left)


def _effect(values: Nights, night: int) -> float | None:
    """Level after over level before, minus 1."""
    before, after = _known(values[:night])[-LEVEL_NIGHTS:], _known(values[night:])[:LEVEL_NIGHTS]
    return median(after) / median(before) - 1 if before and after else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _is_same(one: Evidence, other: Evidence) -> bool:
    """Two measures, or two tiers, that show one change."""
    same_direction = (one.shift.effect_relative < 0) == (other.shift.effect_relative < 0)
    near = abs(one.shift.night - other.shift.night) <= SAME_CHANGE
    return same_direction and near and other.returned_night is None


def _is_back(found: Evidence, level: Evidence) -> bool:
    """Whether the newest nights are where the series was before a change that still stands."""
    if level.returned_night is not None or None in (level.before, level.after, found.after):
        return False
    before, after, now = level.before or 0.0, level.after or 0.0, found.after or 0.0
    return level.measure is Measure.RAW and abs(now - before) < abs(after - before) / 2
