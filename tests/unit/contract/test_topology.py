import random
import time
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.contract.matrices import LINKS, topologies, topology
from workers.contract.errors import TopologyError
from workers.contract.links import badness
from workers.contract.topology import Topology, best_set, parse_topology

CASES = Path(__file__).parents[2] / "cases" / "topo"


def case(name: str) -> Topology:
    return parse_topology((CASES / name).read_text())


@pytest.mark.parametrize(
    ("name", "fabric", "worst", "pair", "quad"),
    [
        ("a40-x8-nv4-pairs-truncated.txt", "nvlink_pairs", "SYS", "NV4", "NODE"),
        ("b200-x8-nv18-8nic-pix.txt", "nvswitch", "NV18", "NV18", "NV18"),
        ("h100-x8-nv18-12nic-tabs-ansi.txt", "nvswitch", "NV18", "NV18", "NV18"),
        ("rtx4090-x8-pix-sys-1nic.txt", "pcie", "SYS", "PIX", "PIX"),
        ("t4-x4-asymmetric-sys-node.txt", "pcie", "SYS", "NODE", "SYS"),
        ("v100-x8-hybrid-cube-mesh.txt", "nvlink_mesh", "SYS", "NV2", "NV1"),
    ],
)
def test_saved_machines_get_their_fabric_and_their_best_groups(
    name: str, fabric: str, worst: str, pair: str, quad: str
) -> None:
    found = case(name)
    everyone = tuple(range(len(found.links)))
    assert (found.fabric, found.worst_link(everyone)) == (fabric, worst)
    assert found.worst_link(best_set(found, 2)) == pair
    assert found.worst_link(best_set(found, 4)) == quad


def test_one_gpu_has_no_fabric() -> None:
    assert case("single-gpu.txt") == Topology.single()
    assert Topology.single().fabric == "none"
    assert Topology.single().worst_link((0,)) == "X"
    assert best_set(Topology.single(), 1) == (0,)


@pytest.mark.parametrize(
    ("rows", "fabric"),
    [
        (("X NV4", "NV4 X"), "nvlink"),
        (("X NV4 NV4", "NV4 X NV4", "NV4 NV4 X"), "nvswitch"),
        (("X NV2 NV1", "NV2 X NV1", "NV1 NV1 X"), "nvlink"),
        (("X NV2 NV2", "NV2 X SYS", "NV2 SYS X"), "nvlink_mesh"),
        (("X NV2 PHB", "NV2 X PHB", "PHB PHB X"), "nvlink_pairs"),
        (("X NV2 ?", "NV2 X NV2", "? NV2 X"), "nvlink_mesh"),
        (("X PHB", "PHB X"), "pcie"),
        (("X ? PHB", "? X ?", "PHB ? X"), "pcie"),
        (("X ?", "? X"), "unknown"),
    ],
)
def test_fabric_follows_from_which_pairs_have_nvlink(rows: tuple[str, ...], fabric: str) -> None:
    assert topology(*rows).fabric == fabric


def test_links_rank_from_more_nvlinks_down_to_unknown() -> None:
    order = [*LINKS, "?"]
    assert [badness(link) for link in order] == sorted({badness(link) for link in order})


def test_an_unknown_link_is_the_worst_of_its_group() -> None:
    found = topology("X ? SYS", "? X SYS", "SYS SYS X")
    assert found.worst_link((0, 1, 2)) == "?"
    assert best_set(found, 2) == (0, 2)


@given(topologies(links=("NV2", "PIX", "SYS", "?")), st.data())
def test_best_set_is_what_trying_every_group_finds(drawn: Topology, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(drawn.links)))
    groups = combinations(range(len(drawn.links)), size)
    assert best_set(drawn, size) == min(
        groups, key=lambda group: (badness(drawn.worst_link(group)), group)
    )


def test_best_set_among_sixteen_gpus_takes_no_time() -> None:
    chance = random.Random(16)
    table = [["X"] * 16 for _ in range(16)]
    for a, b in combinations(range(16), 2):
        table[a][b] = table[b][a] = chance.choice(LINKS)
    drawn = Topology(links=tuple(map(tuple, table)))
    begin = time.process_time()
    for size in range(1, 17):
        best_set(drawn, size)
    assert (time.process_time() - begin) / 16 < 0.05


@pytest.mark.parametrize("indices", [(), (0, 0), (0, 2), (-1, 0)])
def test_a_group_of_other_gpus_than_there_are_is_refused(indices: tuple[int, ...]) -> None:
    with pytest.raises(TopologyError, match=r"different GPUs out of 0\.\.1"):
        topology("X PIX", "PIX X").worst_link(indices)


@pytest.mark.parametrize("size", [0, 3])
def test_a_group_larger_than_the_node_is_refused(size: int) -> None:
    with pytest.raises(TopologyError, match=r"group of 1\.\.2 GPUs"):
        best_set(topology("X PIX", "PIX X"), size)


@pytest.mark.parametrize("rows", [(), ("X PIX",), ("X PIX", "SYS X"), ("SYS",)])
def test_a_table_that_is_no_symmetric_square_is_no_topology(rows: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"symmetric square|zip\(\)|is X"):
        topology(*rows)
