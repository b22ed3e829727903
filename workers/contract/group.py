"""How a worker group is set up: what is told to a rank that starts, joins and is pinged."""

from typing import Literal

from pydantic import Field

from workers.contract.frozen import Frozen
from workers.contract.hardware import DeviceFacts, Environment


class RankSetup(Frozen):
    """Everything a rank needs to know of itself before it touches a device."""

    rank: int
    size: int
    device_kind: Literal["cuda", "cpu"]
    device_index: int
    """Place among the devices that the process sees; for a CPU the core to be pinned to."""
    expected_uuid: str = ""
    """Of the reserved GPU; not checked where empty."""
    log_path: str
    """Receives the process's stdout and stderr."""


class Rendezvous(Frozen):
    """Where and as what the ranks of one generation meet."""

    host: str
    port: int
    prefix: str
    """`{group_id}/{generation}`: never used twice, or the ranks hang (pytorch#55967)."""
    timeout_s: float = Field(gt=0)
    """Of the rendezvous and of every collective after it."""
    degrees: tuple[int, ...]
    """A sub-group of ranks 0..d-1 is made for each of them."""


class RankFacts(Frozen):
    """What a rank found when it started."""

    rank: int
    pid: int
    device: DeviceFacts
    environment: Environment


class PingReply(Frozen):
    """A sign of life."""

    rank: int
    pid: int
    trial_id: str | None
    """What is being measured, if anything."""
