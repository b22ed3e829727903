"""The newest night's groups against the findings that are known: what is new, grown, over. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from service.analysis.changepoints.ledger import SAME_CHANGE
from service.analysis.findings.evidence import OF_A_NODE, FindingKind
from service.analysis.findings.nightly import Group
from service.analysis.findings.node_faults import FLAKY_NIGHTS
from service.analysis.findings.states import OPEN, Dismissal, FindingState

FRESH_NIGHTS = 40
"""A change further back that nobody was told of when it was new is history."""
NIGHTS_OF_DOUBT = SAME_CHANGE
"""A level that the newest nights left is neither there nor back for so many: too few to tell."""


@dataclass(frozen=True, slots=True)
class Known:
    """A finding as it was left the night before."""

    id: str
    kind: FindingKind
    state: FindingState
    dismissal: Dismissal | None
    was_confirmed: bool
    night: int
    """Of its first night, among those that are looked at."""
    seen: int
    """The newest night that showed it."""
    is_slower: bool
    places: frozenset[tuple[str, str]]
    """Node and case of each member."""


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one finding."""

    id: str | None
    """None for a new one."""
    group: Group | None
    """What it is now; None leaves it as it was."""
    state: FindingState
    reason: str
    dismissal: Dismissal | None = None


def track(groups: Sequence[Group], known: Sequence[Known], *, num_nights: int) -> list[Step]:
    """Decide on every group and every known finding; findings that nothing happens to are left out.

    A known finding goes on in a group of its kind and direction that shares a series with it and
    began about the same night. Where several go on in one, it continues the oldest, and the others
    turn out to be parts of the same.
    """
    steps: list[Step] = []
    continued = {one.id: _continued_by(one, groups) for one in known}
    for number, group in enumerate(groups):
        same = [one for one in known if continued[one.id] == number]
        first = min(same, key=lambda one: (one.state not in OPEN, one.id), default=None)
        if first is None:
            steps += _begun(group, num_nights=num_nights)
            continue
        steps += _continued(group, first)
        steps += [_merged(one, first) for one in same if one is not first and one.state in OPEN]
    gone = [one for one in known if continued[one.id] is None]
    steps += [step for one in gone for step in _gone(one, num_nights)]
    return steps


def _continued_by(known: Known, groups: Sequence[Group]) -> int | None:
    """Where it goes on: a series may change twice within days, so in the group nearest to it."""
    distances = {
        number: (abs(group.night - known.night), -len(group.places & known.places))
        for number, group in enumerate(groups)
        if _is_same(group, known)
    }
    return min(distances, key=distances.__getitem__, default=None)


def _is_same(group: Group, known: Known) -> bool:
    alike = group.kind is known.kind and group.is_slower == known.is_slower
    return alike and _is_near(group, known) and bool(group.places & known.places)


def _is_near(group: Group, known: Known) -> bool:
    """A node that was there for a night is missing anew; flaky, its wild nights are other ones."""
    apart = abs(group.night - known.night)
    match group.kind:
        case FindingKind.LEVEL:
            return apart <= SAME_CHANGE
        case FindingKind.FLAKY:
            return apart <= FLAKY_NIGHTS
        case FindingKind.MISSING:
            return apart == 0
        case FindingKind.DRIFT | FindingKind.DISPERSION:
            return True
        case _:
            assert_never(group.kind)


def _begun(group: Group, *, num_nights: int) -> Iterable[Step]:
    newest = max(one.shift.night for one in group.members)
    is_fresh = group.kind is not FindingKind.LEVEL or newest >= num_nights - FRESH_NIGHTS
    if not is_fresh or group.returned_night is not None:
        return
    if group.is_confirmed:
        yield Step(None, group, FindingState.CONFIRMED, _confirmed_by(group))
    else:
        yield Step(None, group, FindingState.SUSPECT, _suspected_by(group))


def _continued(group: Group, known: Known) -> Iterable[Step]:
    state = known.state
    match state:
        case FindingState.SUSPECT if group.is_confirmed and group.returned_night is not None:
            yield Step(known.id, group, FindingState.RECOVERED, "the old level is back")
        case FindingState.SUSPECT if group.is_confirmed:
            yield Step(known.id, group, FindingState.CONFIRMED, _confirmed_by(group))
        case FindingState.CONFIRMED | FindingState.ACKNOWLEDGED | FindingState.FIXED if (
            group.returned_night is not None
        ):
            yield Step(known.id, group, FindingState.RECOVERED, "the old level is back")
        case (
            FindingState.SUSPECT
            | FindingState.CONFIRMED
            | FindingState.ACKNOWLEDGED
            | FindingState.FIXED
        ):
            yield Step(known.id, group, state, "")
        case FindingState.RECOVERED | FindingState.DISMISSED:
            if _is_raised_again(group, known):
                yield Step(known.id, group, FindingState.CONFIRMED, _confirmed_by(group))
            elif known.dismissal is Dismissal.WITHDRAWN and group.returned_night is not None:
                yield Step(known.id, group, FindingState.RECOVERED, "the old level is back")
        case _:
            assert_never(state)


def _is_raised_again(group: Group, known: Known) -> bool:
    """A suspicion that had faded, or a withdrawn finding, which later nights confirm after all."""
    has_faded = known.state is FindingState.RECOVERED and not known.was_confirmed
    is_withdrawn = known.dismissal is Dismissal.WITHDRAWN
    return (has_faded or is_withdrawn) and group.is_confirmed and group.returned_night is None


def _merged(known: Known, first: Known) -> Step:
    reason = f"part of finding {first.id}"
    return Step(known.id, None, FindingState.DISMISSED, reason, Dismissal.MERGED)


def _gone(known: Known, num_nights: int) -> Iterable[Step]:
    """Nothing shows it any more. A level that somebody has decided on is left to them."""
    if known.state is FindingState.SUSPECT:
        yield Step(known.id, None, FindingState.RECOVERED, "the suspicion is gone")
    elif known.state is FindingState.CONFIRMED and known.kind is FindingKind.LEVEL:
        if num_nights - 1 - known.seen < NIGHTS_OF_DOUBT:
            return
        reason = "with later nights known the detector no longer finds it"
        yield Step(known.id, None, FindingState.DISMISSED, reason, Dismissal.WITHDRAWN)
    elif known.state is FindingState.CONFIRMED or _is_seen_to_end(known):
        reason = "the newest nights no longer show it"
        yield Step(known.id, None, FindingState.RECOVERED, reason)


def _is_seen_to_end(known: Known) -> bool:
    """Whether nights tell of themselves that it is over, whatever somebody said of it."""
    return known.kind in OF_A_NODE and known.state in OPEN


def _suspected_by(group: Group) -> str:
    if group.kind is FindingKind.MISSING:
        return _absent(group)
    return "the newest night is far from those before"


def _absent(group: Group) -> str:
    nights = max(one.num_after or 0 for one in group.members)
    return f"not measured on {nights} {'night' if nights == 1 else 'nights'} that others were"


def _confirmed_by(group: Group) -> str:
    if group.kind is FindingKind.MISSING:
        return _absent(group)
    confirmed = sum(one.is_confirmed for one in group.members)
    return f"confirmed by {confirmed} of {len(group.members)} series"
