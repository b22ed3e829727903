import datetime as dt
from typing import Self

import torch
import torch.distributed as dist

from workers.contract.errors import RendezvousError
from workers.contract.group import Rendezvous
from workers.runtime.scheduling import IoThreads


class Communicator:
    """The process groups of one generation: all ranks, and ranks 0..d-1 for each smaller degree.

    The backend follows the tensor: NCCL for a GPU's, gloo for a CPU's; so the control messages of
    a GPU group travel beside, not through, what is measured.
    """

    def __init__(
        self, groups: dict[int, dist.ProcessGroup | None], *, io_threads: IoThreads
    ) -> None:
        self._groups = groups
        self.io_threads = io_threads

    @classmethod
    def form(
        cls,
        rendezvous: Rendezvous,
        *,
        rank: int,
        size: int,
        device: torch.device,
        store: dist.Store | None,
    ) -> Self:
        """Meet the other ranks, or RendezvousError. `store` is rank 0's own, None elsewhere."""
        timeout = dt.timedelta(seconds=rendezvous.timeout_s)
        io_threads = IoThreads()
        try:
            if store is None:
                store = dist.TCPStore(rendezvous.host, rendezvous.port, timeout=timeout)
            with io_threads.raised():
                dist.init_process_group(
                    "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
                    store=dist.PrefixStore(rendezvous.prefix, store),
                    rank=rank,
                    world_size=size,
                    timeout=timeout,
                    device_id=device if device.type == "cuda" else None,
                )
                groups = {
                    degree: _sub_group(degree, size=size, timeout=timeout)
                    for degree in sorted({d for d in rendezvous.degrees if d > 1})
                }
                _check_sums(groups, device=device)
        except (dist.DistError, RuntimeError) as error:
            msg = f"rank {rank} of {size} at {rendezvous.host}:{rendezvous.port}: {error}"
            raise RendezvousError(msg) from error
        return cls(groups, io_threads=io_threads)

    def group_of(self, degree: int) -> dist.ProcessGroup | None:
        """Group of ranks 0..degree-1; None for a rank that is alone or not a member."""
        return None if degree == 1 else self._groups[degree]

    def close(self) -> None:
        """Destroy all groups; every rank must do it before the next generation forms."""
        self.io_threads.lower()
        self._groups.clear()
        dist.destroy_process_group()


def _check_sums(groups: dict[int, dist.ProcessGroup | None], *, device: torch.device) -> None:
    """Sum the ranks' numbers in each group: a new generation connects, and adds up."""
    for degree, group in groups.items():
        if group is None:
            continue
        total = torch.tensor([group.rank() + 1.0], device=device)
        dist.all_reduce(total, group=group)
        expected = degree * (degree + 1) / 2
        if total.item() != expected:
            msg = f"the all_reduce of ranks 0..{degree - 1} gave {total.item()}, not {expected}"
            raise RuntimeError(msg)


def _sub_group(degree: int, *, size: int, timeout: dt.timedelta) -> dist.ProcessGroup | None:
    """Form the group of ranks 0..degree-1. Every rank must call it, in the same order."""
    if degree == size:
        return dist.group.WORLD
    group = dist.new_group(list(range(degree)), timeout=timeout)
    return group if isinstance(group, dist.ProcessGroup) else None
