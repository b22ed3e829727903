"""What surrounds torch's symmetric-memory kernels; they themselves need GPUs, so stand-ins run."""

from collections.abc import Iterator
from typing import cast

import pytest
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
from torch import Tensor

from workers.contract.axes import CollectiveImpl
from workers.contract.errors import CollectiveUnavailableError, DeviceMemoryError
from workers.contract.group import RankSetup
from workers.rank import Rank
from workers.tp.collectives.backend import BackendCollectives
from workers.tp.collectives.members import Members
from workers.tp.collectives.one_shot import OneShotAllReduce
from workers.tp.collectives.symmetric_memory import SymmetricBuffer
from workers.tp.collectives.two_shot import TwoShotAllReduce
from workers.tp.counter import CollectiveCounter
from workers.tp.group import NoCollectives, TensorParallelGroup

GROUP_NAME = "group of the test"
MIB = 1 << 20


class FakeProcessGroup:
    group_name = GROUP_NAME


def members(
    *, size: int = 2, world_size: int = 2, device: str = "cuda:0", share_a_host: bool = True
) -> Members:
    return Members(
        rank=0,
        size=size,
        device=torch.device(device),
        process_group=cast("dist.ProcessGroup", FakeProcessGroup()),
        world_size=world_size,
        share_a_host=share_a_host,
        timeout_s=1,
    )


class OnlyVerdicts(BackendCollectives):
    """A backend that says what it was asked to send."""

    def __init__(self) -> None:
        self.dtypes: list[torch.dtype] = []

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        assert where == "proof"
        self.dtypes.append(tensor.dtype)
        return tensor


def doubled(source: Tensor, out: Tensor) -> Tensor:
    """Sum of two ranks that sent the same."""
    return out.copy_(source * 2)


def one_shot(room: Tensor, message: Tensor, op: str, group_name: str, out: Tensor) -> Tensor:
    assert (op, group_name, room.shape) == ("sum", GROUP_NAME, message.shape)
    room.copy_(message)
    return doubled(room, out)


def two_shot(room: Tensor, op: str, group_name: str, output: Tensor) -> Tensor:
    assert (op, group_name, room.shape) == ("sum", GROUP_NAME, output.shape)
    return doubled(room, output)


@pytest.fixture
def allocated(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Sizes of the symmetric memory that was asked for; kernels and memory are the CPU's."""
    sizes: list[int] = []

    def empty(size: int, *, dtype: torch.dtype, device: torch.device) -> Tensor:
        assert device.type == "cuda"
        sizes.append(size)
        return torch.empty(size, dtype=dtype)

    def do_nothing(*_: object) -> None: ...

    monkeypatch.setattr(symm_mem, "empty", empty)
    monkeypatch.setattr(symm_mem, "rendezvous", do_nothing)
    monkeypatch.setattr(torch.cuda, "synchronize", do_nothing)
    monkeypatch.setattr(dist, "barrier", do_nothing)
    with torch.library._scoped_library("symm_mem", "IMPL") as library:
        library.impl("one_shot_all_reduce_copy_out", one_shot, "CPU")
        library.impl("two_shot_all_reduce_out", two_shot, "CPU")
        yield sizes


@pytest.mark.parametrize("implementation", [OneShotAllReduce, TwoShotAllReduce])
def test_a_message_is_summed_in_place_and_counted_once(
    implementation: type[OneShotAllReduce | TwoShotAllReduce], allocated: list[int]
) -> None:
    opened = implementation(SymmetricBuffer("test", members()), OnlyVerdicts())
    for dtype in (torch.float32, torch.bfloat16):
        message = torch.arange(6, dtype=dtype).view(2, 3)
        with CollectiveCounter(wires=opened.wires) as counter:
            total = opened.all_reduce(message, where="mlp.forward")
        assert total is message
        assert total.tolist() == [[0, 2, 4], [6, 8, 10]]
        assert [(m.op, m.message_bytes) for m in counter.messages] == [
            ("all_reduce", message.nbytes)
        ]
    opened.close()
    assert allocated == [MIB], "the second message found room"


def test_the_buffer_grows_to_the_largest_message_in_powers_of_two(allocated: list[int]) -> None:
    buffer = SymmetricBuffer("test", members())
    for num_bytes in (4, MIB, MIB + 4, 3 * MIB, 2 * MIB, 9 * MIB):
        room = buffer.room_for(torch.empty(num_bytes // 4))
        assert (room.nbytes, room.storage_offset()) == (num_bytes, 0)
    assert allocated == [MIB, 2 * MIB, 4 * MIB, 16 * MIB]


@pytest.mark.usefixtures("allocated")
def test_verdicts_of_the_proof_go_by_the_backend_and_nothing_else_does() -> None:
    backend = OnlyVerdicts()
    opened = OneShotAllReduce(SymmetricBuffer("one_shot", members()), backend)
    opened.all_reduce(torch.ones(4, dtype=torch.float64), where="proof")
    opened.all_reduce(torch.ones(4, dtype=torch.int32), where="proof")
    assert backend.dtypes == [torch.float64, torch.int32]
    with pytest.raises(CollectiveUnavailableError, match=r"4 elements of torch\.float16"):
        opened.all_reduce(torch.ones(4, dtype=torch.float16), where="mlp.forward")
    with pytest.raises(CollectiveUnavailableError, match="in whole 4 bytes"):
        opened.all_reduce(torch.ones(3, dtype=torch.bfloat16), where="mlp.forward")


def test_memory_that_the_driver_cannot_share_is_a_final_error(
    allocated: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no peer access")

    monkeypatch.setattr(symm_mem, "rendezvous", fail)
    with pytest.raises(CollectiveUnavailableError, match="two_shot: no peer access") as caught:
        SymmetricBuffer("two_shot", members()).room_for(torch.ones(1))
    assert caught.value.is_final
    assert allocated == [MIB]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("Tried to allocate 8 MiB"),
        RuntimeError("CUDA driver error: out of memory"),
    ],
)
@pytest.mark.usefixtures("allocated")
def test_memory_that_the_device_lacks_is_told_as_such_with_its_size(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(symm_mem, "empty", fail)
    with pytest.raises(DeviceMemoryError, match=f"two_shot: no room for {8 * MIB} bytes"):
        SymmetricBuffer("two_shot", members()).room_for(torch.ones(2 * MIB))


def test_a_rank_refuses_a_rendezvous_that_leaves_out_ranks_of_its_group(
    allocated: list[int],
) -> None:
    rank = object.__new__(Rank)  # a real one takes over the process
    rank._setup = RankSetup(rank=0, size=4, device_kind="cuda", device_index=0, log_path="")
    rank._device, rank._timeout_s, rank._opened = torch.device("cuda:0"), 1, []
    two_of_four = TensorParallelGroup(0, 2, NoCollectives())
    process_group = cast("dist.ProcessGroup", FakeProcessGroup())
    with pytest.raises(CollectiveUnavailableError, match="2 ranks in a group of 4"):
        rank._open(two_of_four, CollectiveImpl.ONE_SHOT, process_group, share_a_host=True)
    assert allocated == []


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (members(device="cpu"), "it needs CUDA, and this is cpu"),
        (members(size=3), "not 3"),
        (members(share_a_host=False), "several hosts"),
        (members(world_size=4), "2 ranks in a group of 4 .* it works in a group of 2;"),
    ],
)
def test_what_the_kernels_cannot_do_is_refused_when_opened(asked: Members, says: str) -> None:
    with pytest.raises(CollectiveUnavailableError, match=says):
        TwoShotAllReduce.open(asked)
