"""What vendors publish of links and accelerators; GB = 1e9 bytes.

A link's rate is that of one direction, as nccl-tests' bus bandwidth is: data sheets add up both
directions of NVLink and PCIe, and InfiniBand's name is one direction in bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Link:
    """What joins accelerators."""

    name: str
    one_way_gb_per_s: float
    source: str


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One device of a server of eight."""

    name: str
    memory_gb: float
    memory_gb_per_s: float
    bf16_tflop_per_s: float
    """Dense."""
    link: Link
    source: str
    num_devices: int = 8


NVLINK3 = Link("NVLink 3", 300, "NVIDIA A100 data sheet: 600 GB/s both ways")
NVLINK4 = Link("NVLink 4", 450, "NVIDIA H100 data sheet: 900 GB/s both ways")
PCIE4 = Link("PCIe 4.0 x16", 32, "PCI-SIG: 16 GT/s on 16 lanes, before encoding")
PCIE5 = Link("PCIe 5.0 x16", 64, "NVIDIA H100 data sheet: 128 GB/s both ways")
INFINIBAND_HDR = Link("InfiniBand HDR", 25, "IBTA: 200 Gb/s on four lanes")
INFINIBAND_NDR = Link("InfiniBand NDR", 50, "IBTA: 400 Gb/s on four lanes")

LINKS: Mapping[str, Link] = MappingProxyType(
    {link.name: link for link in (NVLINK3, NVLINK4, PCIE4, PCIE5, INFINIBAND_HDR, INFINIBAND_NDR)}
)

ACCELERATORS: Mapping[str, Accelerator] = MappingProxyType(
    {
        one.name: one
        for one in (
            Accelerator("A100 SXM 40GB", 40, 1555, 312, NVLINK3, "NVIDIA A100 data sheet"),
            Accelerator("A100 SXM 80GB", 80, 2039, 312, NVLINK3, "NVIDIA A100 data sheet"),
            Accelerator("A100 PCIe 80GB", 80, 1935, 312, PCIE4, "NVIDIA A100 data sheet"),
            Accelerator("H100 SXM", 80, 3350, 989, NVLINK4, "NVIDIA H100 data sheet"),
            Accelerator("H100 PCIe", 80, 2000, 756, PCIE5, "NVIDIA H100 data sheet"),
            Accelerator("H200 SXM", 141, 4800, 989, NVLINK4, "NVIDIA H200 data sheet"),
            Accelerator("L40S", 48, 864, 362, PCIE4, "NVIDIA L40S data sheet"),
        )
    }
)
