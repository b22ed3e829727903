"""From what Ray reserves to what a rank selects."""

import pytest

from workers.contract.errors import DeviceMismatchError
from workers.ray_group.devices import DeviceChoice, choose_core, choose_gpu, rank_order


@pytest.mark.parametrize(
    ("reserved", "visible", "index", "physical"),
    [
        ("3", None, 3, 3),
        ("3", "0,1,2,3", 3, 3),
        ("5", "2,5", 1, 5),
        ("2", "5, 2", 1, 2),
    ],
)
def test_a_number_becomes_its_position_among_the_devices_the_host_shows(
    reserved: str, visible: str | None, index: int, physical: int
) -> None:
    choice = choose_gpu(reserved, visible=visible)
    assert (choice.index, choice.physical_index) == (index, physical)
    assert choice.mask is None, "a mask spoils NCCL"


def test_a_uuid_becomes_its_position_and_is_what_the_rank_must_find() -> None:
    choice = choose_gpu("GPU-b", visible="GPU-a,GPU-b")
    assert choice == DeviceChoice(index=1, uuid="GPU-b")


def test_a_mig_instance_is_the_only_device_its_process_sees() -> None:
    choice = choose_gpu("MIG-2", visible="MIG-1,MIG-2")
    assert choice == DeviceChoice(index=0, uuid="MIG-2", mask="MIG-2")


def test_a_device_that_the_host_does_not_show_is_refused_with_both_sides_named() -> None:
    with pytest.raises(DeviceMismatchError, match=r"'7'.*'0,1'"):
        choose_gpu("7", visible="0,1")


@pytest.mark.parametrize(
    ("reserved", "order"),
    [
        (["2", "0", "1"], (1, 2, 0)),
        (["10", "9"], (1, 0)),
        (["GPU-b", "GPU-a"], (1, 0)),
        (["", "", ""], (0, 1, 2)),
    ],
    ids=["numbers", "by size, not as text", "uuids", "no devices"],
)
def test_ranks_are_given_out_by_lowest_device(reserved: list[str], order: tuple[int, ...]) -> None:
    assert rank_order(reserved, hosts=[0] * len(reserved)) == order


def test_ranks_fill_one_host_after_the_other() -> None:
    assert rank_order(["1", "0", "1", "0"], hosts=[0, 0, 1, 1]) == (1, 0, 3, 2)


def test_ranks_go_round_the_cores_the_process_may_use() -> None:
    chosen = [choose_core(rank, usable_cores=(2, 5)).index for rank in range(4)]
    assert chosen == [2, 5, 2, 5]
