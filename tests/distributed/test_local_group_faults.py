"""What a fault in one rank, or the end of a group, leaves behind: nothing."""

import os
import signal
import time
from pathlib import Path
from unittest import mock

import psutil
import pytest

from tests.narrowing import block_of
from tests.processes import command_lines
from tests.unit.workers.builders import order
from workers.contract.errors import (
    CollectiveUnavailableError,
    DeviceMemoryError,
    OrderMismatchError,
    RankLostError,
)
from workers.contract.group import RankSetup
from workers.contract.hardware import NodeFacts
from workers.contract.trial import RankResult, TrialOrder
from workers.local import LocalGroup
from workers.rank import Rank
from workers.tp.collectives.segment import NAME
from workers.tp.collectives.turnstile import Turnstile

pytestmark = pytest.mark.timeout(120)


def die_in_the_end(turnstile: Turnstile, number: int, *, where: str) -> None:
    if number == 50:
        os.kill(os.getpid(), signal.SIGKILL)
    real_pass_together(turnstile, number, where=where)


real_pass_together = Turnstile.pass_together


class FaultyRank(Rank):
    """A rank whose batch size says what goes wrong."""

    def measure(self, order: TrialOrder) -> RankResult:
        if self._setup.rank == 1:
            if block_of(order.point).batch in {13, 18}:
                time.sleep(0.2)
                os.kill(os.getpid(), signal.SIGKILL)
            if block_of(order.point).batch == 14:
                order = order.model_copy(update={"seed": order.seed + 1})
            if block_of(order.point).batch == 15:
                time.sleep(60)
            if block_of(order.point).batch == 17:
                mock.patch.object(Turnstile, "pass_together", die_in_the_end).start()
        elif block_of(order.point).batch == 18:
            raise RuntimeError("connection closed by peer")
        if block_of(order.point).batch == 16:
            with self._occupied(order):
                raise MemoryError("planted")
        return super().measure(order)


@pytest.mark.parametrize(
    ("batch", "error", "says"),
    [
        (13, RankLostError, "exit code -9"),
        (18, RankLostError, "rank 1 ended with exit code -9"),
        (14, OrderMismatchError, "different"),
        (15, RankLostError, r"(?s)at its deadline; where it stood:.*in measure"),
        (16, DeviceMemoryError, "planted"),
        (17, RankLostError, "exit code -9|rank 1 ended before it came to mlp"),
    ],
    ids=[
        "killed",
        "killed, and its peer says so first",
        "told otherwise",
        "hung past its deadline",
        "out of memory",
        "killed at a collective over shared memory",
    ],
)
def test_a_fault_in_one_rank_ends_the_group_and_leaves_no_process(
    node: NodeFacts, tmp_path: Path, batch: int, error: type[Exception], says: str
) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    impl = "shared_memory" if batch == 17 else "backend"
    faulty = order(batch=batch, collective_impl=impl).model_copy(
        update={"deadline_s": 3 if batch == 15 else 30}
    )
    with LocalGroup(
        size=2, degrees=(2,), node=node, log_dir=tmp_path, rank_class=FaultyRank
    ) as group:
        group.measure(order())
        with pytest.raises(error, match=says):
            group.measure(faulty)
    names = command_lines(psutil.Process().children(recursive=True))
    left = [
        command
        for pid, command in names.items()
        if pid not in before and "resource_tracker" not in str(command)
    ]
    assert left == []


class UnmadeRank(Rank):
    def __init__(self, setup: RankSetup) -> None:
        super().__init__(setup)
        if setup.rank == 1:
            raise RuntimeError("device is busy")


def test_a_rank_that_cannot_be_made_says_why(node: NodeFacts, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="RuntimeError: device is busy"):
        LocalGroup(size=2, degrees=(2,), node=node, log_dir=tmp_path, rank_class=UnmadeRank)


class SpeakingRank(Rank):
    def measure(self, order: TrialOrder) -> RankResult:
        os.write(2, f"driver: no device for {order.trial_id}\n".encode())
        os._exit(1)


def test_of_a_rank_that_is_gone_the_end_of_its_log_is_told(node: NodeFacts, tmp_path: Path) -> None:
    says = r"(?s)rank 0 ended with exit code 1\nthe end of its log:\n.*driver: no device for t"
    with (
        LocalGroup(
            size=1, degrees=(1,), node=node, log_dir=tmp_path, rank_class=SpeakingRank
        ) as group,
        pytest.raises(RankLostError, match=says),
    ):
        group.measure(order(tp_degree=1))


def test_a_group_that_is_left_gives_its_shared_memory_back(node: NodeFacts, tmp_path: Path) -> None:
    with LocalGroup(size=2, degrees=(2,), node=node, log_dir=tmp_path) as group:
        for _ in range(2):  # the second order finds what the first opened
            group.measure(order(collective_impl="shared_memory"))
        maps = [Path(f"/proc/{process.pid}/maps") for process in group._processes]
        assert [path.read_text().count(f"memfd:{NAME}") for path in maps] == [1, 1]
        group._call([0, 1], "leave", limit_s=30)
        assert [path.read_text().count(f"memfd:{NAME}") for path in maps] == [0, 0]


def test_what_the_device_lacks_ends_the_trial_for_good(node: NodeFacts, tmp_path: Path) -> None:
    with (
        LocalGroup(size=2, degrees=(2,), node=node, log_dir=tmp_path) as group,
        pytest.raises(CollectiveUnavailableError, match="one_shot: it needs CUDA") as caught,
    ):
        group.measure(order(collective_impl="one_shot"))
    assert caught.value.is_final
