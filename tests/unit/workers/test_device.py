"""Which GPU a rank says it has, and what the links between such GPUs are looked up in."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from service.dispatch.placement import link_class
from service.dispatch.spans import joined
from tests.unit.dispatch.builders import node
from workers.contract.group import RankSetup
from workers.contract.hardware import Hardware, NodeFacts
from workers.runtime import device, torch_probe
from workers.runtime.device import select
from workers.runtime.host import TorchFacts

EIGHT = (Path(__file__).parents[2] / "cases/topo/rtx4090-x8-pix-sys-1nic.txt").read_text()
"""PIX within each half, SYS between the halves."""


class NvmlOfEight:
    """A driver whose GPUs have their numbers in their UUIDs."""

    NVMLError = RuntimeError

    def nvmlInit(self) -> None: ...  # noqa: N802

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        return uuid

    def nvmlDeviceGetIndex(self, handle: str) -> int:  # noqa: N802
        return int(handle.removeprefix("GPU-"))


class NoNvml(NvmlOfEight):
    def nvmlInit(self) -> None:  # noqa: N802
        raise RuntimeError("no driver")


@pytest.fixture
def visible(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the GPUs that torch shows, in its order."""
    shown = [2, 5]

    def properties(asked: torch.device | int) -> SimpleNamespace:
        place = asked.index if isinstance(asked, torch.device) else asked
        return SimpleNamespace(name="some GPU", total_memory=24 << 30, uuid=str(shown[place]))

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(shown))
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", properties)
    monkeypatch.setattr(device, "pynvml", NvmlOfEight())
    facts = TorchFacts(version="2", cuda="13", nccl="2", num_threads=1, flush_denormal=False)
    monkeypatch.setattr(torch_probe, "torch_facts", lambda: facts)
    return shown


def selected(place: int) -> int:
    setup = RankSetup(rank=0, size=2, device_kind="cuda", device_index=place, log_path="")
    return select(setup)[1].index


def probed(monkeypatch: pytest.MonkeyPatch, text: str) -> NodeFacts:
    monkeypatch.setattr(torch_probe, "topology_text", lambda: text)
    return torch_probe.probe_by_torch("n", address="10.0.0.1", num_cpu_slots=1)


@pytest.mark.parametrize(
    ("shown", "link"), [([2, 5], "sys"), ([5, 2], "sys"), ([6, 5], "pix"), ([0, 1], "pix")]
)
def test_ranks_under_a_mask_are_linked_as_the_gpus_that_they_really_have(
    visible: list[int], shown: list[int], link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visible[:] = shown
    numbers = [selected(place) for place in (0, 1)]
    assert numbers == shown
    assert link_class(probed(monkeypatch, EIGHT), numbers) == link


@pytest.mark.usefixtures("visible")
def test_without_a_driver_to_ask_a_gpu_has_the_number_that_torch_gives_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "pynvml", NoNvml())
    assert [selected(place) for place in (0, 1)] == [0, 1]


@pytest.mark.parametrize(
    "text", ["", "NVIDIA-SMI has failed", "Topology connectivity is not supported\n", EIGHT[:60]]
)
@pytest.mark.usefixtures("visible")
def test_a_text_that_tells_no_links_is_not_kept_and_the_fabric_stands_in(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = probed(monkeypatch, text)
    assert node.topology == ""
    assert link_class(node, [0, 1]) == node.hardware.fabric == "unknown"


@pytest.mark.usefixtures("visible")
def test_a_text_that_tells_the_links_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probed(monkeypatch, EIGHT).topology == EIGHT


@pytest.mark.parametrize("indices", [[0, 1, 0, 1], [0, 1], [3, 7]])
def test_gpus_of_several_hosts_are_linked_by_what_is_between_the_hosts(indices: list[int]) -> None:
    hardware = Hardware(accelerator="some GPU", memory_class_gib=24, num_devices=8, fabric="pcie")
    nodes = [node(hardware, name=name, topology=EIGHT) for name in "ab"]
    assert link_class(joined(nodes, link="network_100gbit"), indices) == "network_100gbit"
