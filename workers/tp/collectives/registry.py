"""What runs the collectives, by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from workers.contract.axes import CollectiveImpl
from workers.tp.collectives.backend import BackendCollectives
from workers.tp.collectives.members import Members, OpenCollectives
from workers.tp.collectives.one_shot import OneShotAllReduce
from workers.tp.collectives.shared_memory import SharedMemoryAllReduce
from workers.tp.collectives.two_shot import TwoShotAllReduce


def open_collectives(impl: CollectiveImpl, members: Members) -> OpenCollectives:
    """Open an implementation on all members at once, or CollectiveUnavailableError on each."""
    return REGISTRY[impl](members)


REGISTRY: Mapping[CollectiveImpl, Callable[[Members], OpenCollectives]] = MappingProxyType(
    {
        CollectiveImpl.BACKEND: BackendCollectives.open,
        CollectiveImpl.SHARED_MEMORY: SharedMemoryAllReduce.open,
        CollectiveImpl.ONE_SHOT: OneShotAllReduce.open,
        CollectiveImpl.TWO_SHOT: TwoShotAllReduce.open,
    }
)
