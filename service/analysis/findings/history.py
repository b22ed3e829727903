"""Results of many nights become series: a case on a node, raw and control-normalised."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from service.analysis.control import ControlSummary, reference, slowdown
from service.analysis.findings.fleet import CaseKind, Fleet, Rollout

REGULAR = 0.5
"""A node that measured less of the nights between its first and its last has no series of its own:
what such nodes measured is put together, as they are interchangeable."""
SEVERAL_NODES = "several nodes"
COMMUNICATING = 0.25
"""From this share of exposed communication on a case is one that a bad link shows in."""

Nights = tuple[float | None, ...]
"""A value for each night, oldest first; None where there is none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one trial measured."""

    night: int
    node: str
    case: str
    """Its spec_key."""
    num_ranks: int
    step_time_us: float
    communication_share: float
    control: ControlSummary | None
    versions: Mapping[str, str]
    """Covariates that a roll-out changes, by name."""


@dataclass(frozen=True, slots=True)
class CaseSeries:
    """One case on one node."""

    node: str
    case: str
    raw: Nights
    """Median over the trials of the night."""
    normalised: Nights | None
    """As if the host had always been at its quietest; None where controls do not compare."""


@dataclass(frozen=True, slots=True)
class History:
    """All that the nights of one hardware have measured."""

    num_nights: int
    series: tuple[CaseSeries, ...]
    fleet: Fleet


def history_of(readings: Sequence[Reading], *, num_nights: int) -> History:
    """Arrange readings of one hardware, at least one, as series; in an order of their own."""
    places = _places(readings)
    controls: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    for one in readings:
        if one.control is not None:
            name = f"control {one.control.version} on {one.num_ranks}"
            controls[places[one.node], name].append(one)
    series = [
        CaseSeries(node, case, _nights(group, num_nights), _normalised(group, num_nights))
        for (node, case), group in _by_case(readings, places).items()
    ]
    series += [
        CaseSeries(node, case, _control_nights(group, num_nights), None)
        for (node, case), group in controls.items()
    ]
    kinds = {case: CaseKind.CONTROL for _, case in controls} | _kinds(readings)
    fleet = _fleet(places, kinds, rollouts=tuple(_rollouts(readings, places)))
    return History(num_nights=num_nights, series=_ordered(series), fleet=fleet)


def raw_history_of(readings: Sequence[Reading], *, num_nights: int) -> History:
    """The same of step times as they were measured alone: all that nodes' standings rest on."""
    places = _places(readings)
    series = (
        CaseSeries(node, case, _nights(group, num_nights), None)
        for (node, case), group in _by_case(readings, places).items()
    )
    fleet = _fleet(places, _kinds(readings))
    return History(num_nights=num_nights, series=_ordered(series), fleet=fleet)


def _by_case(
    readings: Iterable[Reading], places: Mapping[str, str]
) -> dict[tuple[str, str], list[Reading]]:
    """By place and case: each is a series."""
    groups: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    for one in readings:
        groups[places[one.node], one.case].append(one)
    return groups


def _ordered(series: Iterable[CaseSeries]) -> tuple[CaseSeries, ...]:
    return tuple(sorted(series, key=lambda one: (one.node, one.case)))


def _fleet(
    places: Mapping[str, str], kinds: Mapping[str, CaseKind], rollouts: tuple[Rollout, ...] = ()
) -> Fleet:
    return Fleet(
        nodes=tuple(sorted({*places.values()})),
        cases={case: kinds[case] for case in sorted(kinds)},
        rollouts=rollouts,
    )


def _places(readings: Iterable[Reading]) -> dict[str, str]:
    """Where each node's results belong."""
    nights: dict[str, set[int]] = defaultdict(set)
    for one in readings:
        nights[one.node].add(one.night)
    return {
        node: node if len(seen) >= REGULAR * (max(seen) - min(seen) + 1) else SEVERAL_NODES
        for node, seen in nights.items()
    }


def _kinds(readings: Iterable[Reading]) -> dict[str, CaseKind]:
    shares: dict[str, list[float]] = defaultdict(list)
    for one in readings:
        shares[one.case].append(one.communication_share)
    return {
        case: CaseKind.COMMUNICATION if median(of) >= COMMUNICATING else CaseKind.COMPUTE
        for case, of in shares.items()
    }


def _rollouts(readings: Sequence[Reading], places: Mapping[str, str]) -> Iterable[Rollout]:
    """Versions that a node did not have the last time it measured."""
    seen: dict[tuple[str, str], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in readings:
        if places[one.node] == one.node:
            for name, value in one.versions.items():
                seen[one.node, name][one.night].add(value)
    for (node, name), nights in sorted(seen.items()):
        for last, night in pairwise(sorted(nights)):
            for value in sorted(nights[night] - nights[last]):
                yield Rollout(node=node, night=night, covariate=name, value=value)


def _nights(readings: Iterable[Reading], num_nights: int) -> Nights:
    return _medians(((one.night, one.step_time_us) for one in readings), num_nights)


def _control_nights(readings: Iterable[Reading], num_nights: int) -> Nights:
    times = ((r.night, r.control.gemm.median_us) for r in readings if r.control is not None)
    return _medians(times, num_nights)


def _normalised(readings: Sequence[Reading], num_nights: int) -> Nights | None:
    controls = [one.control for one in readings if one.control is not None]
    quiet = reference(controls) if len(controls) == len(readings) else None
    if quiet is None:
        return None
    share = median(one.communication_share for one in readings)
    factors = (slowdown(one, quiet, communication_share=share) for one in controls)
    steps = (
        (one.night, one.step_time_us / factor)
        for one, factor in zip(readings, factors, strict=True)
    )
    return _medians(steps, num_nights)


def _medians(values: Iterable[tuple[int, float]], num_nights: int) -> Nights:
    by_night: dict[int, list[float]] = defaultdict(list)
    for night, value in values:
        by_night[night].append(value)
    return tuple(
        median(by_night[night]) if night in by_night else None for night in range(num_nights)
    )
