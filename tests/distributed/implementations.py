"""The world of a test's ranks over any implementation of the collectives."""

from dataclasses import replace

import torch
import torch.distributed as dist

from workers.contract.axes import CollectiveImpl
from workers.tp.collectives.members import Members
from workers.tp.collectives.registry import open_collectives
from workers.tp.group import TensorParallelGroup


def members(
    group: TensorParallelGroup,
    *,
    timeout_s: float = 20,
    share_a_host: bool = True,
    device: str = "cpu",
) -> Members:
    """Return the ranks of `group`, which are all there are."""
    world = dist.group.WORLD
    assert world is not None
    return Members(
        rank=group.rank,
        size=group.size,
        device=torch.device(device),
        process_group=world,
        world_size=group.size,
        share_a_host=share_a_host,
        timeout_s=timeout_s,
    )


def using(group: TensorParallelGroup, impl: CollectiveImpl) -> TensorParallelGroup:
    """Return the same ranks over another implementation; called on all of them at once."""
    opened = open_collectives(impl, members(group))
    return replace(group, collectives=opened, wires=opened.wires)
