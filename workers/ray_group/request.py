from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTimings:
    """How long each step of a group may take, inner ones shorter than outer ones."""

    reserve_timeout_s: float = 10
    """Until the cluster has set the devices aside."""
    start_timeout_s: float = 120
    """Until every process has started and imported torch."""
    rendezvous_timeout_s: float = 30
    """Of forming a generation, and of each collective after it."""
    ping_interval_s: float = 1
    max_missed_pings: int = 3
    rank_ttl_s: float = 40
    """A rank that hears no ping for so long ends itself."""
    grace_s: float = 1
    """After a first failure: how long the other ranks have to say what they saw."""
    overtime_s: float = 5
    """How much later than the rank's own deadline the owner gives a trial up."""
    end_timeout_s: float = 30
    """Until processes are gone and devices back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A node that holds ranks."""

    node_id: str
    """Ray's id of the node."""
    address: str
    """The node's own address, at which ranks meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRequest:
    """What to start, and where."""

    group_id: str
    hosts: tuple[Host, ...]
    """Usually one. Ranks are dealt out in blocks as equal as can be, the first to the first host,
    which is where all of them meet. Where there are fewer ranks than hosts the last stay empty."""
    device_kind: Literal["cuda", "cpu"]
    num_ranks: int
    degrees: tuple[int, ...]
    cpus_per_rank: float
    """Share of Ray's CPUs that each rank reserves."""
    log_dir: str
    """On the node; receives `{rank}.log`."""
    rank_class: str = "workers.rank:Rank"
    """Named, not imported: the owner itself never loads torch."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """For the ranks' environment, on top of what the group sets itself."""
    timings: GroupTimings = GroupTimings()

    @property
    def address(self) -> str:
        """Where the ranks meet."""
        return self.hosts[0].address

    @property
    def seats(self) -> tuple[int, ...]:
        """The host of each rank, by its number."""
        num_used = min(len(self.hosts), self.num_ranks)
        return tuple(rank * num_used // self.num_ranks for rank in range(self.num_ranks))
