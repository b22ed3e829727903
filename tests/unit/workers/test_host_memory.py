"""What there is to take of a host's memory, inside a container and outside of any."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from workers.runtime import cpu_node, device
from workers.runtime.device import free_bytes
from workers.runtime.host import TorchFacts
from workers.runtime.host_memory import available_bytes, memory_bytes

GIB = 1 << 30
NO_LIMIT = {"2": "max", "1": "9223372036854771712"}
TORCH = TorchFacts(version="2", cuda=None, nccl=None, num_threads=1, flush_denormal=True)

Limit = Callable[..., None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host of 64 GiB, 60 of them free."""
    (tmp_path / "proc/self").mkdir(parents=True)
    meminfo = f"MemTotal: {64 << 20} kB\nMemFree: 5 kB\nMemAvailable: {60 << 20} kB\n"
    (tmp_path / "proc/meminfo").write_text(meminfo)
    return tmp_path


@pytest.fixture
def limit(root: Path) -> Limit:
    """Gives a cgroup its files; 3 GiB are taken in it, 2 of them by pages of files."""

    def limit(version: str, path: str, value: str | int) -> None:
        folder = root / "sys/fs/cgroup" / ("memory" if version == "1" else "") / path
        folder.mkdir(parents=True, exist_ok=True)
        prefix, limit, taken = (
            ("total_", "limit_in_bytes", "usage_in_bytes")
            if version == "1"
            else ("", "max", "current")
        )
        (folder / f"memory.{limit}").write_text(f"{value}\n")
        (folder / f"memory.{taken}").write_text(f"{3 * GIB}\n")
        (folder / "memory.stat").write_text(f"anon 5\n{prefix}inactive_file {2 * GIB}\n")

    return limit


def enter(root: Path, *lines: str) -> None:
    (root / "proc/self/cgroup").write_text("".join(f"{line}\n" for line in lines))


PLACE = {
    "2": ("0::/pod/rank",),
    "1": ("5:cpu,cpuacct:/else", "4:memory:/pod/rank", "1:name=systemd:/", "0::/"),
}


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("limited", ["pod/rank", "pod", ""])
def test_the_limit_of_any_cgroup_around_the_process_is_one_of_the_process(
    version: str, limited: str, root: Path, limit: Limit
) -> None:
    enter(root, *PLACE[version])
    for path in ("pod/rank", "pod", ""):
        limit(version, path, 4 * GIB if path == limited else NO_LIMIT[version])
    assert memory_bytes(root) == 4 * GIB
    assert available_bytes(root) == 3 * GIB, "a third of what is taken cannot be dropped"


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_container_that_sees_no_cgroup_of_its_name_has_its_own_at_the_top(
    version: str, root: Path, limit: Limit
) -> None:
    enter(root, *PLACE[version])
    limit(version, "", 4 * GIB)
    assert memory_bytes(root) == 4 * GIB


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_cgroup_that_is_full_leaves_nothing(version: str, root: Path, limit: Limit) -> None:
    enter(root, *PLACE[version])
    limit(version, "pod", GIB // 2)
    assert available_bytes(root) == 0


@pytest.mark.parametrize("version", ["1", "2"])
def test_without_a_limit_all_of_the_host_is_there(version: str, root: Path, limit: Limit) -> None:
    assert (memory_bytes(root), available_bytes(root)) == (64 * GIB, 60 * GIB)
    enter(root, *PLACE[version])
    assert (memory_bytes(root), available_bytes(root)) == (64 * GIB, 60 * GIB)
    limit(version, "pod", NO_LIMIT[version])
    limit(version, "another", 4 * GIB)
    assert (memory_bytes(root), available_bytes(root)) == (64 * GIB, 60 * GIB)


def test_a_limit_changes_what_a_slot_holds_and_not_what_the_node_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = []
    for found in (64 * GIB, 4 * GIB):
        monkeypatch.setattr(cpu_node, "memory_bytes", lambda found=found: found)
        nodes.append(cpu_node.cpu_node("n", TORCH, address="127.0.0.1", num_slots=4))
    assert [node.slot_memory_bytes for node in nodes] == [16 * GIB, GIB]
    assert len({node.hardware.hardware_key for node in nodes}) == 1


def test_ranks_on_one_host_share_what_is_free_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "available_bytes", lambda: 4 * GIB)
    cpu = torch.device("cpu")
    assert [free_bytes(cpu, ranks_here=ranks) for ranks in (1, 2)] == [2 * GIB, GIB]


def test_here_there_is_some() -> None:
    assert 0 < available_bytes() < memory_bytes()
