import multiprocessing as mp
import pickle
import time
import traceback
import uuid
import warnings
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol

import pytest
import torch
import torch.distributed as dist

from workers.contract.hardware import NodeFacts
from workers.runtime.probe import probe_node
from workers.tp.collectives.backend import BackendCollectives
from workers.tp.group import TensorParallelGroup

TIMEOUT_S = 45.0
"""For all ranks together, start included: four of them import torch on two busy cores."""

PRELOADED = ["torch", "torch.fx.experimental.symbolic_shapes", "workers.tp.proof"]
"""What takes seconds to import, once in the server from which ranks are forked. It runs nothing
else, has no threads, and ends with the test session."""

P = ParamSpec("P")
RankFunction = Callable[Concatenate[TensorParallelGroup, P], object]


class SpawnRanks(Protocol):
    """Runs function(group, *args) on `size` new processes; returns what each rank returned."""

    def __call__(
        self, size: int, function: RankFunction[...], *args: object, timeout_s: float = TIMEOUT_S
    ) -> list[object]: ...


class RankFailedError(Exception):
    """A rank raised: carries the traceback it had there. `__cause__` is the exception itself."""


@pytest.fixture
def spawn_ranks(tmp_path: Path) -> SpawnRanks:
    """Real processes over gloo, a file as rendezvous, one thread each; none outlives it."""

    def spawn(
        size: int, function: RankFunction[...], *args: object, timeout_s: float = TIMEOUT_S
    ) -> list[object]:
        context = mp.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        store = str(tmp_path / f"store-{uuid.uuid4().hex}")
        readers: list[Connection] = []
        ranks: list[mp.process.BaseProcess] = []
        try:
            for rank in range(size):
                reader, writer = context.Pipe(duplex=False)
                arguments = (writer, rank, size, store, function, args)
                ranks.append(context.Process(target=_run_rank, args=arguments, daemon=True))
                ranks[-1].start()
                writer.close()
                readers.append(reader)
            return _collect(readers, deadline=time.monotonic() + timeout_s)
        finally:
            for process in ranks:
                process.kill()
                process.join()

    return spawn


def _run_rank(
    writer: Connection,
    rank: int,
    size: int,
    store: str,
    function: RankFunction[...],
    args: tuple[object, ...],
) -> None:
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            "gloo",
            store=dist.FileStore(store, size),
            rank=rank,
            world_size=size,
            timeout=timedelta(seconds=TIMEOUT_S),
        )
        world = dist.group.WORLD
        assert world is not None
        group = TensorParallelGroup(rank=rank, size=size, collectives=BackendCollectives(world))
        writer.send((rank, function(group, *args), None, ""))
        dist.destroy_process_group()
    except Exception as error:  # noqa: BLE001 - handed to the test, whatever it is
        writer.send((rank, None, _picklable(error), traceback.format_exc()))


def _picklable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - then its text has to do
        return RuntimeError(repr(error))
    return error


def _collect(readers: list[Connection], *, deadline: float) -> list[object]:
    """Return the ranks' results in order; raise the first failure as soon as it arrives."""
    results: dict[int, object] = {}
    pending = set(readers)
    while pending:
        ready = wait(list(pending), timeout=max(0.0, deadline - time.monotonic()))
        if not ready:
            missing = sorted(readers.index(reader) for reader in pending)
            raise TimeoutError(f"ranks {missing} did not return in time")
        for reader in ready:
            assert isinstance(reader, Connection)
            pending.discard(reader)
            results.update(_receive(reader, rank=readers.index(reader)))
    return [results[rank] for rank in range(len(readers))]


def _receive(reader: Connection, *, rank: int) -> dict[int, object]:
    try:
        rank, result, error, trace = reader.recv()
    except EOFError:
        raise RankFailedError(f"rank {rank} died without a word") from None
    if error is not None:
        raise RankFailedError(f"rank {rank}:\n{trace}") from error
    return {rank: result}


@pytest.fixture(scope="module")
def node() -> NodeFacts:
    return probe_node("here", address="127.0.0.1", num_cpu_slots=4)
