"""What is handed to a dispatcher and what it hands back."""

from dataclasses import dataclass
from datetime import timedelta

from workers.contract.axes import GroupKind
from workers.contract.probe import Measurable
from workers.contract.sweep import Sampling

DEFAULT_MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Offer:
    """What one node can run now."""

    hardware_key: str
    accelerator: str
    num_slots: int


@dataclass(frozen=True, slots=True)
class Grant:
    """One attempt at one trial.

    `attempt` is the fencing number: it grows with every grant, and whoever comes with an older one
    is refused.
    """

    trial_id: str
    attempt: int
    sweep_id: str
    point_id: str
    replicate: int
    owner: str


@dataclass(frozen=True, slots=True)
class Lease(Grant):
    """A trial in the hands of its owner until the lease expires, with all that its ranks need."""

    spec: Measurable
    sampling: Sampling
    group_kind: GroupKind
    seed: int
    num_devices: int
    """Largest tp_degree of the sweep: the size of the group to start."""
    degrees: tuple[int, ...]
    """Every tp_degree of the sweep, ascending: the sub-groups to make."""
    pair_point_id: str | None
    pair_spec: Measurable | None
    """The other point of a pair, which the trial measures by turns with its own."""
    ttl: timedelta
    """Granted time, counted from the claim; the holder counts on its own monotonic clock."""
    profile: bool = False
    """Whether the sweep wants its first replicate profiled."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt did not succeed."""

    code: str
    message: str
    rank: int | None = None
    signal: int | None = None
    node: str = ""
    log_tail: str = ""
    is_final: bool = False
    """Another attempt would fail in the same way."""
