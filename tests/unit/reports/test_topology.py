"""What is said of the machines that people published."""

from pathlib import Path

import pytest

from service.errors import UnreadableFileError
from service.reports.topology import TopologyReport, explain

CASES = Path(__file__).parents[2] / "cases" / "topo"


def report(name: str) -> TopologyReport:
    return explain((CASES / name).read_text())


@pytest.mark.parametrize(
    ("name", "fabric", "links"),
    [
        ("a40-x8-nv4-pairs-truncated.txt", "nvlink_pairs", {2: "NV4", 4: "NODE", 8: "SYS"}),
        ("b200-x8-nv18-8nic-pix.txt", "nvswitch", {2: "NV18", 5: "NV18", 8: "NV18"}),
        ("h100-x8-nv18-12nic-tabs-ansi.txt", "nvswitch", {2: "NV18", 8: "NV18"}),
        ("rtx4090-x8-pix-sys-1nic.txt", "pcie", {2: "PIX", 4: "PIX", 5: "SYS", 8: "SYS"}),
        ("single-gpu.txt", "none", {1: "X"}),
        ("t4-x4-asymmetric-sys-node.txt", "pcie", {2: "NODE", 3: "NODE", 4: "SYS"}),
        ("v100-x8-hybrid-cube-mesh.txt", "nvlink_mesh", {2: "NV2", 4: "NV1", 8: "SYS"}),
    ],
)
def test_the_worst_link_of_each_degree(name: str, fabric: str, links: dict[int, str]) -> None:
    found = report(name)
    assert found.fabric == fabric
    worst = {one.tp_degree: one.worst_link for one in found.tp_degrees}
    assert {degree: worst[degree] for degree in links} == links


def test_good_sets_are_the_pairs_the_halves_and_the_quads() -> None:
    sets = {one.tp_degree: one.sets for one in report("a40-x8-nv4-pairs-truncated.txt").tp_degrees}
    assert sets[2] == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert sets[4] == ((0, 1, 2, 3), (4, 5, 6, 7))
    sets = {one.tp_degree: one.sets for one in report("rtx4090-x8-pix-sys-1nic.txt").tp_degrees}
    assert sets[4] == ((0, 1, 2, 3), (4, 5, 6, 7))
    sets = {one.tp_degree: one.sets for one in report("v100-x8-hybrid-cube-mesh.txt").tp_degrees}
    assert sets[4] == ((0, 1, 2, 3), (4, 5, 6, 7))


def test_what_is_doubtful_is_said() -> None:
    assert report("a40-x8-nv4-pairs-truncated.txt").warnings == ("the text is cut",)
    assert "virtual machines" in explain("GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X").warnings[0]
    found = explain("GPU0 GPU1\nGPU0 X NV4\nGPU1 SYS X")
    assert found.tp_degrees[1].worst_link == "SYS"
    assert "took SYS" in found.warnings[0]


def test_what_is_no_matrix_is_refused_with_the_line() -> None:
    with pytest.raises(UnreadableFileError, match="line 1: expected the header"):
        explain("hello")


def test_more_gpus_than_a_machine_has_are_refused() -> None:
    names = [f"GPU{index}" for index in range(40)]
    rows = [
        " ".join([name, *("X" if other == name else "SYS" for other in names)]) for name in names
    ]
    with pytest.raises(UnreadableFileError, match="40 GPUs"):
        explain("\n".join([" ".join(names), *rows]))
