"""Two pinned processes over gloo, as measuring ranks have them, and blocks of steps on both."""

import multiprocessing as mp
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
import torch.distributed as dist

from workers.contract.group import RankSetup
from workers.runtime.device import select
from workers.runtime.host import clock_identity
from workers.runtime.scheduling import IoThreads, usable_cores
from workers.timing.clocks import HostClock, Step
from workers.timing.peers import Peers
from workers.tp.collectives.backend import BackendCollectives
from workers.tp.group import NoCollectives, TensorParallelGroup


@dataclass(frozen=True, slots=True)
class BenchRank:
    """One of the processes."""

    group: TensorParallelGroup
    peers: Peers

    @property
    def is_first(self) -> bool:
        """Whether it prints."""
        return self.group.rank == 0

    def block(self, step: Step, *, num_steps: int) -> Callable[[], float]:
        """Return what runs a block of steps and says the median's nanoseconds, slower rank each."""
        clock = HostClock()

        def run() -> float:
            times = []
            for _ in range(num_steps):
                self.peers.begin_together()
                times.append(clock.time(step)[1])
            rows = self.peers.exchange(times)
            slower = [max(column) for column in zip(*rows, strict=True)]
            return float(median(slower))

        return run


def run_ranks(degree: int, body: Callable[[BenchRank], bool]) -> bool:
    """Run `body` on each rank, all at once; whether all of them returned True.

    `body` must be importable: the processes are spawned.
    """
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    context = mp.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="tpsweep-") as folder:
        store = str(Path(folder) / "store")
        ranks = [
            context.Process(target=_run_rank, args=(rank, degree, store, body))
            for rank in range(degree)
        ]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
    return all(process.exitcode == 0 for process in ranks)


def _run_rank(rank: int, degree: int, store: str, body: Callable[[BenchRank], bool]) -> None:
    cores = usable_cores()
    core = cores[rank % len(cores)]
    setup = RankSetup(rank=rank, size=degree, device_kind="cpu", device_index=core, log_path="")
    select(setup)
    with IoThreads().raised():
        file = dist.FileStore(store, degree)
        dist.init_process_group("gloo", store=file, rank=rank, world_size=degree)
    world = dist.group.WORLD
    assert world is not None
    collectives = BackendCollectives(world) if degree > 1 else NoCollectives()
    peers = Peers(world if degree > 1 else None, clock_identity=clock_identity())
    torch.manual_seed(0)
    is_met = body(BenchRank(TensorParallelGroup(rank, degree, collectives), peers))
    dist.destroy_process_group()
    sys.exit(0 if is_met else 1)
