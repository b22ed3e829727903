"""Claims 22 to 27 and 30: links, where a degree pays, and what the product is for."""

from service.analysis.claims.claim import Claim, Verdict
from service.analysis.claims.published import (
    A100,
    A100_PCIE,
    H100,
    H100_PCIE,
    INFINIBAND_HDR,
    NVLINK3,
    NVLINK4,
    PCIE4,
    PCIE5,
)
from service.analysis.claims.ring import OVER_LINKS
from service.analysis.recommendation.choice import DEFAULT_THRESHOLD

SWEEP = (
    """echo '{"models": "llama-2-7b", "blocks": "mlp", "phase": "decode", """
    """"tp_degree": [1, 2, 4], "batch": [1, 4, 16, 64, 256]}' | tpsweep submit - --wait"""
)


def claims() -> tuple[Claim, ...]:
    """In their order."""
    return (
        *(_links(), _pcie(), _across_nodes(), _threshold(), _ranges(), _break_even()),
        _ratios(),
    )


def _links() -> Claim:
    links = (NVLINK3, NVLINK4, PCIE5, PCIE4, INFINIBAND_HDR)
    sources = (*(one.source for one in (A100, H100, H100_PCIE, A100_PCIE)), "IBTA roadmap")
    return Claim(
        number=22,
        source="B",
        claim="one-way bandwidths of NVLink 3, NVLink 4, H100 PCIe, PCIe 4, InfiniBand HDR",
        article="300, 450, 64, 32, 25 GB/s",
        ours="; ".join(
            f"{link.gb_per_s:g} ({source})" for link, source in zip(links, sources, strict=True)
        ),
        figures=tuple(one.gb_per_s for one in links),
        verdict=Verdict.HOLDS,
        command="tpsweep results",
    )


def _pcie() -> Claim:
    own = NVLINK3.gb_per_s / PCIE4.gb_per_s
    of_links = NVLINK3.gb_per_s / PCIE5.gb_per_s
    return Claim(
        number=23,
        source="B",
        claim="PCIe server: TP=4 slower than TP=2 from batch 8 to 16; communication 4 to 5 times "
        "dearer",
        article="8 to 16; 4 to 5",
        ours=f"B's own NVLink and PCIe give {own:.1f}; {of_links:.1f} only against PCIe 5; the "
        "batch is a crossing to be measured",
        figures=(own, of_links),
        verdict=Verdict.DEPENDS,
        command=SWEEP,
    )


def _across_nodes() -> Claim:
    return Claim(
        number=24,
        source="A, B",
        claim="TP across nodes is counter-productive; it needs links of NVLink's class",
        article="counter-productive",
        ours="the same sweep over links of several rates decides it",
        figures=(),
        verdict=Verdict.DEPENDS,
        command=OVER_LINKS,
    )


def _threshold() -> Claim:
    return Claim(
        number=25,
        source="B",
        claim="communication share above 15 % of the step: lower TP or a faster link",
        article="15 %",
        ours=f"the share is measured for every point; the threshold is {DEFAULT_THRESHOLD:.0%} "
        "unless given",
        figures=(DEFAULT_THRESHOLD,),
        verdict=Verdict.DEPENDS,
        command="tpsweep recommend llama-2-7b --hardware 'A100 80GB SXM'",
    )


def _ranges() -> Claim:
    return Claim(
        number=26,
        source="B",
        claim="TP range by model size and environment; 7B with TP=8 raises decode latency",
        article="a table; raises",
        ours="a table for all presets and published accelerators, each degree with its reason; "
        "from results of this service where there are any",
        figures=(),
        verdict=Verdict.DEPENDS,
        command="tpsweep advise --model llama-2-7b; tpsweep recommend",
    )


def _break_even() -> Claim:
    return Claim(
        number=27,
        source="B",
        claim="the batch where compute overtakes communication is hard to estimate without "
        "profiling",
        article="unknown",
        ours="what this service measures: the batch with its 95 % interval, kept as history",
        figures=(),
        verdict=Verdict.DEPENDS,
        command="tpsweep breakeven SWEEP",
    )


def _ratios() -> Claim:
    nvlink3, nvlink4, pcie, hdr = (
        one.gb_per_s for one in (NVLINK3, NVLINK4, PCIE5, INFINIBAND_HDR)
    )
    found = (nvlink4 / pcie, nvlink3 / hdr, nvlink4 / hdr)
    return Claim(
        number=30,
        source="B",
        claim="H100 PCIe is 7 times below SXM; InfiniBand HDR more than 10 times below NVLink",
        article="7; over 10",
        ours=f"{found[0]:.1f}; {found[1]:g} and {found[2]:g}",
        figures=found,
        verdict=Verdict.HOLDS,
        command="tpsweep claims",
    )
