import pytest

from service.analysis.costmodel.accelerators import ACCELERATORS, NETWORKS, find_accelerator


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("h100-sxm-x8", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA GH200 120GB", "GH200"),
        ("A100-SXM4-40GB", "A100 40GB SXM"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA A40", "A40"),
        ("NVIDIA A10G", "A10"),
        ("Tesla V100-SXM2-16GB", "V100 SXM2"),
        ("Tesla T4", "T4"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX A6000", "RTX A6000"),
        ("AMD EPYC 9654", None),
        ("", None),
    ],
)
def test_devices_are_known_by_the_names_that_drivers_give(name: str, known: str | None) -> None:
    found = find_accelerator(name)
    assert (found and found.name) == known


def test_each_finds_itself_and_names_its_source() -> None:
    for one in ACCELERATORS:
        assert find_accelerator(one.name) is one
        assert one.source


def test_one_way_bandwidths_are_those_of_the_data_sheets() -> None:
    """Claim 22 of the articles; NVLink's data sheets add both directions up."""
    rates = {one.link.name: one.link.gb_per_s for one in ACCELERATORS}
    assert rates["NVLink 3"] == 300
    assert rates["NVLink 4"] == 450
    assert rates["PCIe 5.0 x16"] == 64
    assert rates["PCIe 4.0 x16"] == 32
    assert NETWORKS["InfiniBand HDR"].gb_per_s == 25
