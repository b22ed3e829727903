"""What runs the collectives, by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch

from workers.contract.axes import CollectiveImpl
from workers.contract.errors import NumericsError
from workers.tp.collectives.backend import BackendCollectives
from workers.tp.collectives.members import Members, OpenCollectives
from workers.tp.collectives.one_shot import OneShotAllReduce
from workers.tp.collectives.shared_memory import SharedMemoryAllReduce
from workers.tp.collectives.two_shot import TwoShotAllReduce


def open_collectives(impl: CollectiveImpl, members: Members) -> OpenCollectives:
    """Open an implementation on all members at once, or CollectiveUnavailableError on each.

    One known sum shows that it connects and adds up, since proofs may be older than it.
    """
    opened = REGISTRY[impl](members)
    total = torch.tensor([members.rank + 1.0], device=members.device)
    found = opened.all_reduce(total, where="opening").item()
    expected = members.size * (members.size + 1) / 2
    if found != expected:
        opened.close()
        msg = f"{impl}: the all_reduce of ranks 0..{members.size - 1} gave {found}, not {expected}"
        raise NumericsError(msg)
    return opened


REGISTRY: Mapping[CollectiveImpl, Callable[[Members], OpenCollectives]] = MappingProxyType(
    {
        CollectiveImpl.BACKEND: BackendCollectives.open,
        CollectiveImpl.SHARED_MEMORY: SharedMemoryAllReduce.open,
        CollectiveImpl.ONE_SHOT: OneShotAllReduce.open,
        CollectiveImpl.TWO_SHOT: TwoShotAllReduce.open,
    }
)
