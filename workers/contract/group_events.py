"""What a worker group tells its owner, one event at a time."""

from dataclasses import dataclass
from enum import StrEnum

from workers.contract.group import RankFacts
from workers.contract.trial import RankResult


class Blame(StrEnum):
    """Whose fault a failure is, as far as can be told; decides who is tried again, and how often.

    What can not be told is the cluster's, never the point's.
    """

    POINT = "point"
    RANK = "rank"
    HOST = "host"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Why a trial or a group was lost: the first rank that died, not the first to complain."""

    blame: Blame
    code: str
    message: str
    rank: int | None = None
    signal: int | None = None
    """What ended the rank's process, where a signal did and the kernel could be asked."""
    log_tail: str = ""
    """Last lines of the rank's log, then its stacks where some were written."""
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class GroupReady:
    """All ranks have joined `generation` and wait for an order."""

    generation: int
    ranks: tuple[RankFacts, ...]


@dataclass(frozen=True, slots=True)
class TrialMeasured:
    """Every rank of the order has answered; the group is ready for the next."""

    trial_id: str
    results: tuple[RankResult, ...]


@dataclass(frozen=True, slots=True)
class TrialFailed:
    """The point could not be measured; the group re-forms itself and says GroupReady again."""

    trial_id: str
    loss: Loss


@dataclass(frozen=True, slots=True)
class GroupFailed:
    """The group is lost, and with it the trial it was at. It ends itself; GroupEnded follows."""

    trial_id: str | None
    loss: Loss


@dataclass(frozen=True, slots=True)
class GroupEnded:
    """No process of the group is left, and its devices are free, but for what is listed."""

    leftover_pids: tuple[int, ...] = ()


GroupEvent = GroupReady | TrialMeasured | TrialFailed | GroupFailed | GroupEnded
