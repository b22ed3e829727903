"""A worker group of spawned processes on this host: the same ranks as on Ray, without Ray."""

import contextlib
import multiprocessing
import os
import secrets
from collections.abc import Iterable
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self

import torch

from workers.contract.axes import GroupKind
from workers.contract.errors import RankLostError, WorkerError
from workers.contract.group import RankSetup, Rendezvous
from workers.contract.hardware import NodeFacts
from workers.contract.trial import RankResult, TrialOrder, TrialResult
from workers.gather import gather
from workers.rank import Rank
from workers.runtime.scheduling import usable_cores

START_LIMIT_S = 60.0
RENDEZVOUS_LIMIT_S = 30.0
PATIENCE_S = 5.0
"""How long a rank may take to end by itself before it is killed."""
NOTICED_WITHIN_S = 0.5
"""After a rank has failed, how long a peer's death may take to show: it would be the cause."""
LONGEST_WORDS = 4096
"""Characters of the end of a rank's stacks, and of its log, that are told of one that is gone."""


class LocalGroup:
    """`size` ranks in processes of their own, formed and ready. Use as a context manager.

    The first failure of a rank ends the whole group: its peers would wait for it.
    """

    def __init__(
        self,
        *,
        size: int,
        degrees: tuple[int, ...],
        node: NodeFacts,
        log_dir: Path,
        rank_class: type[Rank] = Rank,
    ) -> None:
        self._id = secrets.token_hex(6)
        self._node = node
        self._log_dir = log_dir / self._id
        context = multiprocessing.get_context("spawn")
        self._connections: list[Connection[Any, Any]] = []
        self._processes: list[BaseProcess] = []
        for rank in range(size):
            ours, theirs = context.Pipe()
            setup = _setup(rank, size=size, log_dir=self._log_dir)
            process = context.Process(
                target=_serve, args=(theirs, setup, rank_class), daemon=True, name=f"rank{rank}"
            )
            process.start()
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)
        try:
            self._form(degrees)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def measure(self, order: TrialOrder) -> TrialResult:
        """Run one trial on ranks 0..tp_degree-1.

        Raises what a rank raised, or RankLostError where one died; then the group is closed.
        """
        members = list(range(order.point.tp_degree))
        try:
            answers = self._call(members, "measure", order, limit_s=order.deadline_s + PATIENCE_S)
        except BaseException:
            self.close()
            raise
        return gather(
            order,
            [answer for answer in answers if isinstance(answer, RankResult)],
            group_kind=GroupKind.FRESH,
            group_id=self._id,
            hardware_key=self._node.hardware.hardware_key,
            link_class=self._node.hardware.fabric,
            node=self._node.name,
        )

    def close(self) -> None:
        """End every process, by force where one does not end by itself."""
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.join(0.2)
        for process in self._processes:
            if process.is_alive():
                process.kill()
            process.join(PATIENCE_S)

    def _form(self, degrees: tuple[int, ...]) -> None:
        ranks = list(range(len(self._processes)))
        self._call(ranks, "describe", limit_s=START_LIMIT_S)
        if len(ranks) == 1:
            return
        (port,) = self._call([0], "open_store", "127.0.0.1", limit_s=RENDEZVOUS_LIMIT_S)
        rendezvous = Rendezvous(
            host="127.0.0.1",
            port=port,
            prefix=f"{self._id}/0",
            timeout_s=RENDEZVOUS_LIMIT_S,
            degrees=degrees,
        )
        self._call(ranks, "join", rendezvous, limit_s=RENDEZVOUS_LIMIT_S + PATIENCE_S)

    def _call(self, ranks: list[int], method: str, *arguments: object, limit_s: float) -> list[Any]:
        """Call a method of several ranks at once; the first bad answer is raised at once."""
        for rank in ranks:
            with contextlib.suppress(BrokenPipeError):
                self._connections[rank].send((method, arguments))
        answers: dict[int, object] = {}
        while len(answers) < len(ranks):
            missing = [rank for rank in ranks if rank not in answers]
            ready = wait([self._connections[rank] for rank in missing], timeout=limit_s)
            if not ready:
                msg = f"ranks {missing} did not answer {method} within {limit_s:.0f} s"
                raise RankLostError(msg, rank=missing[0], cause="hung")
            for rank in missing:
                if self._connections[rank] in ready:
                    try:
                        answers[rank] = self._receive(rank)
                    except RuntimeError:
                        self._name_the_dead(other for other in missing if other != rank)
                        raise
        return [answers[rank] for rank in ranks]

    def _name_the_dead(self, ranks: Iterable[int]) -> None:
        """RankLostError for a rank that has died: its peers may notice before we do."""
        processes = {rank: self._processes[rank] for rank in ranks}
        sentinels = [process.sentinel for process in processes.values()]
        # Not is_alive(): a process closes its files, and so its sentinel, before it can be reaped.
        ended = wait(sentinels, timeout=NOTICED_WITHIN_S)
        for rank, process in processes.items():
            if process.sentinel in ended:
                self._receive(rank)

    def _receive(self, rank: int) -> object:
        try:
            answer = self._connections[rank].recv()
        except (EOFError, ConnectionError):
            process = self._processes[rank]
            process.join(PATIENCE_S)
            stacks, log = (self._last_words(rank, kind) for kind in ("stacks", "log"))
            msg = f"rank {rank} ended with exit code {process.exitcode}"
            msg += f" at its deadline; where it stood:\n{stacks}" if stacks else ""
            msg += f"\nthe end of its log:\n{log}" if log else ""
            raise RankLostError(msg, rank=rank, cause="hung" if stacks else "died") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _last_words(self, rank: int, kind: str) -> str:
        """The end of its stacks, written at its deadline, or log; both go with the folder."""
        path = self._log_dir / f"rank{rank}.{kind}"
        return path.read_text(errors="replace")[-LONGEST_WORDS:] if path.exists() else ""


def _setup(rank: int, *, size: int, log_dir: Path) -> RankSetup:
    cores = usable_cores()
    has_gpu = torch.cuda.is_available()
    return RankSetup(
        rank=rank,
        size=size,
        device_kind="cuda" if has_gpu else "cpu",
        device_index=rank if has_gpu else cores[rank % len(cores)],
        log_path=str(log_dir / f"rank{rank}.log"),
    )


def _serve(connection: "Connection[Any, Any]", setup: RankSetup, rank_class: type[Rank]) -> None:
    """Answer calls until the other end closes: the parent is done, or gone.

    The rank is made within the first call, which so has the answer where it cannot be made.
    """
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    rank: Rank | None = None
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            os._exit(0)  # not through torch's teardown, which may wait for a dead peer
        try:
            rank = rank or rank_class(setup)
            answer = getattr(rank, method)(*arguments)
        except WorkerError as error:
            answer = error
        except Exception as error:  # noqa: BLE001 - the loop's edge: the parent decides
            answer = RuntimeError(f"{type(error).__name__}: {error}")
        connection.send(answer)
