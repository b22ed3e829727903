from datetime import datetime

from service.cli.wire.base import Wire


class Case(Wire):
    """One of the cases that changed."""

    label: str


class NightOf(Wire):
    """A night of a schedule."""

    sweep_id: str
    at: datetime


class Finding(Wire):
    """Changes of series that one event explains."""

    id: str
    policy: str
    kind: str
    cause: str
    state: str
    dismissal: str | None = None
    sentence: str = ""
    nodes: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    effect_relative: float | None = None
    normalised_effect: float | None = None
    num_series: int = 0
    num_confirmed: int = 0
    smallest_p: float | None = None
    night: NightOf
    last_good: NightOf | None = None
    reproduce: str = ""
    detector: str = ""
    detector_version: int = 0


class Member(Wire):
    """One series that shows it."""

    node: str
    case: str
    measure: str
    is_confirmed: bool
    effect_relative: float | None = None
    normalised_effect: float | None = None
    p: float | None = None
    num_before: int | None = None
    num_after: int | None = None


class FindingChange(Wire):
    """One change of its state."""

    state: str
    reason: str = ""
    changed_by: str = ""
    changed_at: datetime


class Difference(Wire):
    """What differs between the last good night and the first bad one."""

    field: str
    baseline: tuple[str, ...] = ()
    candidate: tuple[str, ...] = ()


class FindingDetail(Finding):
    """A finding with all that is known about it."""

    members: tuple[Member, ...] = ()
    differences: tuple[Difference, ...] = ()
    changes: tuple[FindingChange, ...] = ()


class Policy(Wire):
    """The findings of one schedule, counted by what became of them."""

    policy: str
    detector_version: int
    num_nights: int
    num_series_nights: int
    num_confirmed: int
    num_decided: int
    precision: float | None = None
    share_slower: float | None = None
