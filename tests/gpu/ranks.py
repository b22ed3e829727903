"""Runs one check in processes of its own, so that a crash or a hang costs that check alone."""

import datetime as dt
import multiprocessing as mp
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Literal, Self

import torch
import torch.distributed as dist

from workers.contract.frozen import Frozen
from workers.runtime.scheduling import pin, usable_cores
from workers.tp.collectives.backend import BackendCollectives
from workers.tp.group import NoCollectives, TensorParallelGroup

Fact = str | int | float | bool | None | list[str]
Facts = dict[str, Fact]


Status = Literal["ok", "failed", "skipped"]
Answer = tuple[int, Status, str, Facts]
"""Of one rank: its number, what became of it, why, and what it found."""


class SkippedError(Exception):
    """The check does not apply here; the message says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check; `body` runs on every rank at once, and rank 0's facts are kept."""

    name: str
    body: Callable[["CheckRank"], Facts]
    num_ranks: int = 1
    backend: str = ""
    """Of the process group; none where empty."""
    variables: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 60
    needs_gpu: bool = False


class Outcome(Frozen):
    """What a check found, as it is printed."""

    check: str
    status: Status
    seconds: float
    reason: str = ""
    facts: Facts

    @classmethod
    def skipped(cls, check: Check, reason: str) -> Self:
        """Return what is said of a check that was not begun."""
        return cls(check=check.name, status="skipped", seconds=0, reason=reason, facts={})


@dataclass(frozen=True, slots=True)
class CheckRank:
    """One process of a check. All ranks share the one device."""

    device: torch.device
    group: TensorParallelGroup
    process_group: dist.ProcessGroup | None

    @property
    def is_gpu(self) -> bool:
        """Whether there is a GPU."""
        return self.device.type == "cuda"


def run(check: Check) -> Outcome:
    """Run it; a rank that says nothing within the limit has failed it."""
    if check.needs_gpu and not torch.cuda.is_available():
        return Outcome.skipped(check, "there is no GPU")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tpsweep-") as folder:
        found = _run_ranks(check, store=str(Path(folder) / "store"), until=began + check.limit_s)
    worst = next((answer for answer in found if answer[1] != "ok"), min(found, key=lambda a: a[0]))
    _, status, reason, facts = worst
    seconds = round(time.monotonic() - began, 2)
    return Outcome(check=check.name, status=status, seconds=seconds, reason=reason, facts=facts)


def _run_ranks(check: Check, *, store: str, until: float) -> list[Answer]:
    """Return the ranks' answers, up to the first that is not well; no rank is left."""
    context = mp.get_context("spawn")
    answers: mp.Queue[Answer] = context.Queue()
    ranks = [
        context.Process(target=_serve, args=(check, rank, store, answers), daemon=True)
        for rank in range(check.num_ranks)
    ]
    for process in ranks:
        process.start()
    found: list[Answer] = []
    try:
        while len(found) < check.num_ranks:
            found.append(answers.get(timeout=max(0.1, until - time.monotonic())))
            if found[-1][1] != "ok":
                break
    except Empty:
        found.append((-1, "failed", f"no answer within {check.limit_s:.0f} s", {}))
    for process in ranks:
        process.join(2)
        if process.is_alive():
            process.kill()
            process.join()
    return found


def _serve(
    check: Check,
    rank: int,
    store: str,
    answers: "mp.Queue[Answer]",
) -> None:
    os.environ.update({"GLOO_SOCKET_IFNAME": "lo", **check.variables})
    try:
        answers.put((rank, "ok", "", check.body(_join(check, rank, store))))
    except SkippedError as error:
        answers.put((rank, "skipped", str(error), {}))
    except Exception as error:  # noqa: BLE001 - the edge of the process: whatever it is, it is told
        answers.put((rank, "failed", f"{type(error).__name__}: {error}"[:500], {}))
    answers.close()
    answers.join_thread()
    os._exit(0)  # not through torch's teardown, which may wait for a peer


def _join(check: Check, rank: int, store: str) -> CheckRank:
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    else:
        cores = usable_cores()
        pin(cores[rank % len(cores)])
        torch.set_num_threads(1)
    if not check.backend:
        group = TensorParallelGroup(rank, check.num_ranks, NoCollectives())
        return CheckRank(device, group, process_group=None)
    dist.init_process_group(
        check.backend,
        store=dist.FileStore(store, check.num_ranks),
        rank=rank,
        world_size=check.num_ranks,
        timeout=dt.timedelta(seconds=check.limit_s),
    )
    world = dist.group.WORLD
    assert world is not None
    group = TensorParallelGroup(rank, check.num_ranks, BackendCollectives(world))
    return CheckRank(device, group, process_group=world)
