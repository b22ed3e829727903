"""Errors of the data plane. Each leaf has a stable `code`; all of them survive pickling.

WorkerError
├── ProofError                the sharded block does not compute what its unsharded twin does
│   ├── NumericsError
│   └── CollectiveCountError
├── DeviceMemoryError         final: the point does not fit the device
├── CollectiveUnavailableError  final: collective_impl does not work on this device or group
├── LaunchUnavailableError    final: the device cannot start steps in this way
├── RendezvousError           the group could not be formed
├── DeviceMismatchError       the rank sits on another device than the one reserved
├── OrderMismatchError        ranks of one group were told to measure different things
├── TopologyError             a topology text cannot be read, or holds no such GPUs
└── RankLostError             a rank died, hung or was cut off
"""

from typing import ClassVar


class WorkerError(Exception):
    """Root of everything the data plane raises on purpose; never raised itself."""

    code: ClassVar[str] = "worker_error"
    is_final: ClassVar[bool] = False
    """True where another attempt at the same point would fail in the same way."""


class ProofError(WorkerError):
    """The point is wrong before it is timed; never raised itself."""

    code = "proof_failed"
    is_final = True


class NumericsError(ProofError):
    """Outputs or gradients differ from the unsharded twin. Example: a shard cut the wrong way."""

    code = "numerics_mismatch"


class CollectiveCountError(ProofError):
    """A step ran other collectives than expected. Example: a block input without requires_grad."""

    code = "collective_count_mismatch"


class DeviceMemoryError(WorkerError):
    """The device has no room for the point."""

    code = "out_of_memory"
    is_final = True


class CollectiveUnavailableError(WorkerError):
    """The collective_impl asked for does not work here. Example: shared_memory across hosts."""

    code = "collective_unavailable"
    is_final = True


class LaunchUnavailableError(WorkerError):
    """The launch asked for does not work here. Example: cuda_graph on a CPU."""

    code = "launch_unavailable"
    is_final = True


class RendezvousError(WorkerError):
    """A rank did not come to the rendezvous in time."""

    code = "rendezvous_failed"


class DeviceMismatchError(WorkerError):
    """The reserved device is not the one the rank sees. Example: an index mapped twice."""

    code = "device_mismatch"


class OrderMismatchError(WorkerError):
    """Ranks of one group hold different orders; running them would abort the processes."""

    code = "order_mismatch"


class TopologyError(WorkerError, ValueError):
    """The text is no `nvidia-smi topo -m` matrix, or the GPUs asked for are not in it."""

    code = "topology_unreadable"
    is_final = True


class RankLostError(WorkerError):
    """A rank died, stopped answering or lost its host; the whole group is rebuilt."""

    code = "rank_lost"

    def __init__(self, message: str, *, rank: int | None = None, cause: str = "died") -> None:
        super().__init__(message)
        self.rank = rank
        self.cause = cause

    def __reduce__(self) -> tuple[object, tuple[str, int | None, str]]:
        return _rank_lost, (str(self), self.rank, self.cause)


def _rank_lost(message: str, rank: int | None, cause: str) -> RankLostError:
    return RankLostError(message, rank=rank, cause=cause)
