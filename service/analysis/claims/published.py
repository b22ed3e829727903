"""The accelerators and links that the articles speak of, out of the catalogue."""

from service.analysis.costmodel.accelerators import ACCELERATORS, NETWORKS, Accelerator


def accelerator(name: str) -> Accelerator:
    """Return the catalogue's entry of this name."""
    return next(one for one in ACCELERATORS if one.name == name)


A100, H100 = accelerator("A100 80GB SXM"), accelerator("H100 SXM")
A100_PCIE, H100_PCIE = accelerator("A100 80GB PCIe"), accelerator("H100 PCIe")
NVLINK3, NVLINK4 = A100.link, H100.link
PCIE4, PCIE5 = A100_PCIE.link, H100_PCIE.link
INFINIBAND_HDR = NETWORKS["InfiniBand HDR"]
