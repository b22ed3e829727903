from service.cli.wire.base import Wire
from service.cli.wire.interval import Interval
from service.cli.wire.spec import Spec


class GroupsPoint(Wire):
    """A point in fresh processes and in re-formed groups."""

    spec: Spec
    fresh: Interval
    regrouped: Interval
    width_ratio: float
    holds_fresh_median: bool


class Groups(Wire):
    """Fresh processes beside re-formed groups."""

    points: tuple[GroupsPoint, ...] = ()
    sentence: str = ""
