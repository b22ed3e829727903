"""The history of one case on one hardware: a figure for each night, and where its level changed.

A night is a finished sweep: of one schedule, as its judge sees them, or any that measured the case.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from statistics import median

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.changepoints.detector import detect
from service.analysis.changepoints.ledger import SAME_CHANGE
from service.analysis.changepoints.verdict import ChangePoint, Outcome, Verdict
from service.analysis.findings.evidence import Measure
from service.analysis.findings.history import SEVERAL_NODES, CaseSeries, Nights, Reading, history_of
from service.analysis.interval import estimate
from service.errors import NotFoundError
from service.reports.baselines import COMMIT
from service.reports.estimates import EstimateReport, generator_of
from service.store import fingerprints, history, tags
from service.store.history import COVARIATES, Night
from workers.contract.frozen import Frozen
from workers.contract.hardware import Hardware
from workers.contract.point import PointSpec

ALL_NODES = ""
"""Every trial of a night counts, wherever it ran."""


class SeriesNightReport(Frozen):
    """What one night measured of the case; nothing where it failed, or was not asked."""

    sweep_id: str
    at: datetime
    point_id: str | None
    step_time_us: EstimateReport | None
    normalised_us: float | None = Field(
        description="As if the host had always been at its quietest; null without controls."
    )
    level_us: float | None = Field(
        description="Median of the nights between the changes that it lies between."
    )
    commit: str | None = Field(description="The sweep's tag of that name.")
    is_spike: bool = Field(description="Left the level and came back at once; moves no level.")


class SeriesChangeReport(Frozen):
    """A confirmed change of level."""

    index: int = Field(description="First night of the new level.")
    last_before: int = Field(description="The last night of the old one that has a figure.")
    measure: Measure
    effect_relative: float | None
    before_us: float
    after_us: float
    num_before: int
    num_after: int
    p: float


class VersionMarkReport(Frozen):
    """A version that is not what it was the night before."""

    index: int
    field: str
    before: str
    after: str


class SeriesReport(Frozen):
    """A case on a hardware over its nights, oldest first."""

    spec: PointSpec
    spec_key: str
    hardware: Hardware
    hardware_key: str
    schedule: str | None = Field(description="Whose nights they are; null: of any sweep.")
    schedules: tuple[str, ...] = Field(description="All that measure the case there.")
    node: str = Field(description="Empty: all nodes together.")
    nodes: tuple[str, ...] = Field(description="Those that measured it.")
    nights: tuple[SeriesNightReport, ...]
    changes: tuple[SeriesChangeReport, ...]
    marks: tuple[VersionMarkReport, ...]
    outcome: Outcome
    reasons: tuple[str, ...] = Field(description="What the detector says, in words.")

    @property
    def newest_us(self) -> float:
        """Of the last night that has a figure; one has."""
        return [one.step_time_us.median for one in self.nights if one.step_time_us][-1]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which series."""

    spec_key: str
    hardware_key: str
    schedule: str | None
    node: str = ALL_NODES


def find(session: Session, asked: Asked) -> SeriesReport:
    """NotFoundError where nothing was measured of it there, by the schedule or on the node."""
    spec = fingerprints.spec(session, asked.spec_key)
    hardware = fingerprints.hardware(session, asked.hardware_key)
    if not isinstance(spec, PointSpec) or hardware is None:
        raise NotFoundError(f"no case {asked.spec_key!r} was measured on {asked.hardware_key!r}")
    if asked.schedule is None:
        nights = history.nights_of_case(session, asked.spec_key, asked.hardware_key)
    else:
        nights = history.nights(session, asked.schedule)
    known = history.readings(session, nights, spec_key=asked.spec_key)
    own = known.get(asked.hardware_key, [])
    readings = _of_node(own, asked)
    (series,) = (
        one
        for one in history_of(readings, num_nights=len(nights)).series
        if one.case == asked.spec_key
    )
    verdict = detect(series.raw)
    return SeriesReport(
        spec=spec,
        spec_key=asked.spec_key,
        hardware=hardware,
        hardware_key=asked.hardware_key,
        schedule=asked.schedule,
        schedules=tuple(history.schedules_of(session, asked.spec_key, asked.hardware_key)),
        node=asked.node,
        nodes=tuple(sorted({one.node for one in own})),
        nights=_nights(session, asked, nights, readings, series, verdict),
        changes=tuple(_changes(series, verdict)),
        marks=tuple(_marks(readings)),
        outcome=verdict.outcome,
        reasons=verdict.reasons,
    )


def _of_node(readings: Sequence[Reading], asked: Asked) -> list[Reading]:
    """Those that are asked for, as of one node: then they are one series."""
    regular = {one.node for one in readings}
    if asked.node == SEVERAL_NODES and readings:
        num_nights = 1 + max(one.night for one in readings)
        regular = set(history_of(readings, num_nights=num_nights).fleet.nodes)
    found = [
        replace(one, node=asked.node)
        for one in readings
        if asked.node in {ALL_NODES, one.node}
        or (asked.node == SEVERAL_NODES and one.node not in regular)
    ]
    if not found:
        by = f" by schedule {asked.schedule!r}" if asked.schedule else ""
        where = f" on node {asked.node!r}" if asked.node else ""
        raise NotFoundError(f"no finished sweep measured {asked.spec_key!r}{by}{where}")
    return found


def _nights(
    session: Session,
    asked: Asked,
    nights: Sequence[Night],
    readings: Sequence[Reading],
    series: CaseSeries,
    verdict: Verdict,
) -> tuple[SeriesNightReport, ...]:
    sweep_ids = [one.sweep_id for one in nights]
    commits = tags.of_sweeps(session, COMMIT, sweep_ids)
    points = history.points_of(session, asked.spec_key, asked.hardware_key, sweep_ids)
    times: dict[int, list[float]] = defaultdict(list)
    for one in readings:
        times[one.night].append(one.step_time_us)
    rng = generator_of(series.case)
    spikes = {one.index for one in verdict.spikes}
    levels = _levels(series.raw, [one.index for one in verdict.change_points], spikes)
    return tuple(
        SeriesNightReport(
            sweep_id=night.sweep_id,
            at=night.at,
            point_id=points.get(night.sweep_id),
            step_time_us=EstimateReport.of(estimate(times[number], rng=rng))
            if number in times
            else None,
            normalised_us=None if series.normalised is None else series.normalised[number],
            level_us=levels[number],
            commit=commits.get(night.sweep_id),
            is_spike=number in spikes,
        )
        for number, night in enumerate(nights)
    )


def _levels(values: Nights, starts: Sequence[int], spikes: Collection[int]) -> list[float | None]:
    """Of each night the median between the changes; from its first figure to its last."""
    levels: list[float | None] = []
    for first, end in pairwise([0, *starts, len(values)]):
        own = [values[t] for t in range(first, end) if t not in spikes]
        known = [value for value in own if value is not None]
        levels += [median(known) if known else None] * (end - first)
    return levels


def _changes(series: CaseSeries, verdict: Verdict) -> Iterator[SeriesChangeReport]:
    """Of the series as it was measured, then those that the host's noise hides in it."""
    raw = verdict.change_points
    yield from (_change(one, series.raw, Measure.RAW) for one in raw)
    if series.normalised is not None:
        for one in detect(series.normalised).change_points:
            if not any(_is_same(one, other) for other in raw):
                yield _change(one, series.normalised, Measure.NORMALISED)


def _is_same(one: ChangePoint, other: ChangePoint) -> bool:
    """Whether both measures show it: near in time, and in the same direction."""
    is_near = abs(one.index - other.index) <= SAME_CHANGE
    return is_near and (one.after < one.before) == (other.after < other.before)


def _change(point: ChangePoint, values: Nights, measure: Measure) -> SeriesChangeReport:
    return SeriesChangeReport(
        index=point.index,
        last_before=max(t for t in range(point.index) if values[t] is not None),
        measure=measure,
        effect_relative=point.effect_relative,
        before_us=point.before,
        after_us=point.after,
        num_before=point.num_before,
        num_after=point.num_after,
        p=point.p,
    )


def _marks(readings: Sequence[Reading]) -> Iterator[VersionMarkReport]:
    """Where the versions of a night are others than those of the last night that measured."""
    seen: dict[str, dict[int, set[str]]] = {name: defaultdict(set) for name in COVARIATES}
    for one in readings:
        for name, value in one.versions.items():
            seen[name][one.night].add(value)
    for name, by_night in seen.items():
        told = [(night, ", ".join(sorted(by_night[night]))) for night in sorted(by_night)]
        for (_, before), (night, after) in pairwise(told):
            if before != after:
                yield VersionMarkReport(index=night, field=name, before=before, after=after)
