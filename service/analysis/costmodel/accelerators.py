"""Published peaks of accelerators and links. Nothing here was measured by us.

Rates are dense (without structured sparsity); bandwidths of links are in one direction, as
collectives use them, where data sheets often add both up.

Each row was held against a second source in November 2026, which `source` names after the vendor's.
Not so the figures of the GH200, A10, V100, RTX 3090 and RTX A6000: those are the vendor's alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from service.analysis.costmodel.gemm import Product, Roofline
from service.analysis.costmodel.prediction import Basis, Prediction, within
from service.analysis.costmodel.ring import Link
from workers.contract.axes import Dtype

LAUNCH_US = 5.0
"""One kernel, enqueued and run: the order of magnitude of every CUDA device."""
NVLINK_LATENCY_US, PCIE_LATENCY_US, NETWORK_LATENCY_US = 20.0, 25.0, 40.0
"""Floors of a collective; of small all-reduces NVSwitch nodes show 13 to 36 us
(tests/cases/nccl-tests), two nodes 18 to 123 us."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One kind of device."""

    name: str
    pattern: str
    """Matches the names that drivers and people give it, in lower case."""
    float32_tflops: float
    half_tflops: float
    """bfloat16 and float16, accumulated in float32."""
    memory_gb_per_s: float
    memory_gb: float
    """GB = 1e9 bytes, as its name has it; of several the largest."""
    link: Link
    """Between the devices of one machine."""
    source: str
    has_bfloat16: bool = True
    num_devices: int = 8
    """Of one server as it is usually sold."""

    def roofline(self, dtype: Dtype) -> Roofline:
        """Both peaks as they are published, which no product reaches."""
        tflops = self.float32_tflops if dtype is Dtype.FLOAT32 else self.half_tflops
        return Roofline(LAUNCH_US, tflops * 1e6, self.memory_gb_per_s * 1e3)

    def product_time(self, product: Product, *, dtype: Dtype) -> Prediction:
        """At the published peaks."""
        return within(
            self.roofline(dtype).time_us(product, element_bytes=dtype.num_bytes),
            None,
            basis=Basis.CATALOGUE,
            calibration=f"published peaks of {self.name} ({self.source})",
        )


def _nvlink(name: str, gb_per_s: float) -> Link:
    return Link(name, gb_per_s, NVLINK_LATENCY_US)


_PCIE3 = Link("PCIe 3.0 x16", 16, PCIE_LATENCY_US)
_PCIE4 = Link("PCIe 4.0 x16", 32, PCIE_LATENCY_US)
_PCIE5 = Link("PCIe 5.0 x16", 64, PCIE_LATENCY_US)
_NVLINK2, _NVLINK3 = _nvlink("NVLink 2", 150), _nvlink("NVLink 3", 300)
_NVLINK4, _NVLINK5 = _nvlink("NVLink 4", 450), _nvlink("NVLink 5", 900)
_BRIDGE3 = _nvlink("NVLink 3 bridge, 4 links", 56.25)

_SITE = "https://www.nvidia.com/en-us/data-center"
_NOTES = "https://glennklockwood.com/garden/processors"
_H100 = f"{_SITE}/h100; https://archive-lib.hpctech.co.jp/gpuproduct/nvidia-h100.html"
_L40S = "https://www.mullet.se/product.html?product_id=355414"
_L4 = "https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40"
_A40 = "https://hmc-tech.com/gpu/nvidia-a40-vs-nvidia-t4"
_T4 = "https://sysrqmts.com/en/gpus/nvidia/tesla/t4"
_4090 = "https://waredb.com/processor/nvidia-geforce-rtx-4090"
_A100 = f"{_SITE}/a100; https://www.thundercompute.com/blog/nvidia-a100-specs-full-guide"
_AMPERE = "NVIDIA Ampere GA102 GPU Architecture, white paper v2"
_ADA = "NVIDIA Ada GPU Architecture, white paper v2"

ACCELERATORS: tuple[Accelerator, ...] = (
    Accelerator("GH200", r"gh200", 67, 989, 4000, 96, _NVLINK4, f"{_SITE}/grace-hopper-superchip"),
    Accelerator("GB200", r"gb200", 90, 2500, 8000, 192, _NVLINK5, f"1200 W; {_NOTES}/B200"),
    Accelerator("B200", r"\bb200", 80, 2250, 8000, 180, _NVLINK5, f"1000 W; {_NOTES}/B200"),
    Accelerator("H200", r"h200", 67, 989, 4800, 141, _NVLINK4, f"{_SITE}/h200; {_NOTES}/h100"),
    Accelerator("H100 PCIe", r"h100.*pcie", 51, 756, 2000, 80, _PCIE5, _H100),
    Accelerator("H100 SXM", r"h100", 67, 989, 3350, 80, _NVLINK4, _H100),
    Accelerator("A100 80GB PCIe", r"a100.*pcie", 19.5, 312, 1935, 80, _PCIE4, _A100),
    Accelerator("A100 80GB SXM", r"a100.*80", 19.5, 312, 2039, 80, _NVLINK3, _A100),
    Accelerator("A100 40GB SXM", r"a100", 19.5, 312, 1555, 40, _NVLINK3, _A100),
    Accelerator("L40S", r"l40s", 91.6, 362, 864, 48, _PCIE4, f"{_SITE}/l40s; {_L40S}"),
    Accelerator("L4", r"\bl4\b", 30.3, 121, 300, 24, _PCIE4, f"{_SITE}/l4; {_L4}"),
    Accelerator("A40", r"\ba40\b", 37.4, 149.7, 696, 48, _BRIDGE3, f"{_SITE}/a40; {_A40}"),
    Accelerator("A10", r"\ba10g?\b", 31.2, 125, 600, 24, _PCIE4, f"{_SITE}/products/a10-gpu"),
    Accelerator(
        "V100 SXM2", r"v100", 15.7, 125, 900, 32, _NVLINK2, f"{_SITE}/v100", has_bfloat16=False
    ),
    Accelerator(
        "T4", r"\bt4\b", 8.1, 65, 320, 16, _PCIE3, f"{_SITE}/tesla-t4; {_T4}", has_bfloat16=False
    ),
    Accelerator("RTX 4090", r"4090", 82.6, 165.2, 1008, 24, _PCIE4, f"{_ADA}; {_4090}"),
    Accelerator("RTX 3090", r"3090", 35.6, 71, 936, 24, _BRIDGE3, _AMPERE),
    Accelerator("RTX A6000", r"a6000", 38.7, 154.8, 768, 48, _BRIDGE3, _AMPERE),
)

NETWORKS: Mapping[str, Link] = MappingProxyType(
    {
        "InfiniBand HDR": Link("InfiniBand HDR", 25, NETWORK_LATENCY_US),
        "InfiniBand NDR": Link("InfiniBand NDR", 50, NETWORK_LATENCY_US),
        "Ethernet 100G": Link("Ethernet 100G", 12.5, NETWORK_LATENCY_US),
    }
)
"""One port of each; line rates by the InfiniBand Trade Association's roadmap and IEEE 802.3."""


def find_accelerator(name: str) -> Accelerator | None:
    """Know it by any name a driver or a person gives: `NVIDIA H100 80GB HBM3`, `h100-sxm-x8`."""
    plain = re.sub(r"[^a-z0-9]+", " ", name.lower())
    return next((one for one in ACCELERATORS if re.search(one.pattern, plain)), None)


def known_names() -> tuple[str, ...]:
    """Names that `find_accelerator` certainly knows."""
    return tuple(one.name for one in ACCELERATORS)
