"""Claims 9 to 15 and 29: what an AllReduce moves and how long that takes at a link's rate.

Bandwidth terms alone: the start of a collective is claim 16's.
"""

from service.analysis.claims.claim import Claim, Verdict
from service.analysis.claims.published import A100, INFINIBAND_HDR, NVLINK3, PCIE4
from workers.contract.axes import Activation, Block, Collective, Dtype, Phase
from workers.contract.bandwidth import bus_factor
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.workload import expected_messages, flops_per_rank

COMMAND = "tpsweep claims"
OVER_LINKS = "./deploy/shaped_link_demo"
"""Measures the same over links of several rates, and prints this claim."""
BOTH_WAYS = 2 * NVLINK3.gb_per_s
LINKS_OF_A = (BOTH_WAYS, INFINIBAND_HDR.gb_per_s, NVLINK3.gb_per_s)
"""A compares both directions of NVLink added up with one of InfiniBand; the third is like for
like."""
PEAK_FLOP_PER_S = A100.half_tflops * 1e12


def claims() -> tuple[Claim, ...]:
    """In their order."""
    return (
        *(_formula(), _factors(), _two_to_four(), _times(), _efficiency()),
        *(_small_message(), _large_message(), _steps()),
    )


def factor(num_ranks: int) -> float:
    """Ring bytes per byte of the tensor that is reduced."""
    return bus_factor(Collective.ALL_REDUCE, num_ranks=num_ranks)


def gpt(hidden: int) -> ModelShape:
    """A plain layer, the MLP four times as wide."""
    return ModelShape(
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_attention_heads=hidden // 128,
        num_key_value_heads=hidden // 128,
        head_dim=128,
        activation=Activation.GELU,
    )


def _training_step() -> PointSpec:
    """A's: hidden 4096, batch 256, seq 2048 over two ranks in bf16."""
    return PointSpec(
        model=gpt(4096),
        block=Block.MLP,
        phase=Phase.TRAIN,
        tp_degree=2,
        batch=256,
        seq=2048,
        dtype=Dtype.BFLOAT16,
    )


def _formula() -> Claim:
    too_much = tuple(2 * (p - 1) / factor(p) for p in (2, 4, 8))
    return Claim(
        number=9,
        source="A",
        claim="T_AR = 2(P-1) M/B",
        article="2(P-1) M/B",
        ours="right with M the chunk of one step, tensor/P; with M the tensor it is "
        f"{', '.join(f'{times:g}' for times in too_much)} times the ring's 2(P-1)/P M/B at "
        "P=2, 4, 8",
        figures=too_much,
        verdict=Verdict.IN_PART,
        command=COMMAND,
    )


def _factors() -> Claim:
    found = tuple(factor(n) for n in (2, 4, 8, 16))
    return Claim(
        number=10,
        source="B",
        claim="volume per GPU 2(N-1)/N M at N=2, 4, 8, 16",
        article="1.0, 1.5, 1.75, 1.875",
        ours=", ".join(f"{one:g}" for one in found),
        figures=found,
        verdict=Verdict.HOLDS,
        command=COMMAND,
    )


def _two_to_four() -> Claim:
    found = factor(4) / factor(2)
    return Claim(
        number=11,
        source="A",
        claim="TP 2 to 4 makes the AllReduce longer by",
        article="1.5",
        ours=f"{found:g}, of the bandwidth's part",
        figures=(found,),
        verdict=Verdict.HOLDS,
        command=COMMAND,
    )


def all_reduce_s(spec: PointSpec, one_way_gb_per_s: float) -> float:
    """Of one of the step's AllReduces, all alike."""
    message = expected_messages(spec)[0]
    return message.message_bytes * factor(spec.tp_degree) / (one_way_gb_per_s * 1e9)


def _times() -> Claim:
    spec = _training_step()
    size = expected_messages(spec)[0].message_bytes / 1e9
    fast, slow, fair = (all_reduce_s(spec, link) * 1e3 for link in LINKS_OF_A)
    return Claim(
        number=12,
        source="A",
        claim="h=4096, batch 256, seq 2048, TP=2: T_AR on NVLink (600 GB/s) and InfiniBand (25)",
        article="22 ms, 527 ms",
        ours=f"{size:.3f} GB in bf16: {fast:.2f} ms, {slow:.1f} ms; 600 is both ways added up, "
        f"at its 300 one way {fair:.1f} ms, a ratio of {slow / fair:.0f} and not "
        f"{slow / fast:.0f}",
        figures=(size, fast, slow, fair, slow / fair),
        verdict=Verdict.DOES_NOT_FOLLOW,
        command=OVER_LINKS,
    )


def _efficiency() -> Claim:
    spec = _training_step()
    compute = flops_per_rank(spec) / PEAK_FLOP_PER_S
    number = len(expected_messages(spec))
    fast, slow, fair = (
        compute / (compute + number * all_reduce_s(spec, link)) for link in LINKS_OF_A
    )
    return Claim(
        number=13,
        source="A",
        claim="efficiency T_c/(T_c+T_AR) of that step on NVLink and InfiniBand",
        article="75 %, 11 %",
        ours=f"T_c {compute * 1e3:.1f} ms of a whole MLP, {number} AllReduces: {fast:.1%} (600), "
        f"{fair:.1%} (300), {slow:.1%} (25 GB/s)",
        figures=(compute * 1e3, fast, fair, slow),
        verdict=Verdict.IN_PART,
        command=OVER_LINKS,
    )


def _decode(batch: int) -> PointSpec:
    """B's: hidden 8192 over four ranks in bf16, one token of each sequence."""
    return PointSpec(
        model=gpt(8192),
        block=Block.MLP,
        phase=Phase.DECODE,
        tp_degree=4,
        batch=batch,
        seq=1,
        dtype=Dtype.BFLOAT16,
    )


def _small_message() -> Claim:
    spec = _decode(1)
    size = expected_messages(spec)[0].message_bytes
    took = all_reduce_s(spec, NVLINK3.gb_per_s) * 1e6
    return Claim(
        number=14,
        source="B",
        claim="h=8192, bf16, TP=4, batch 1: message, moved, time at 300 GB/s",
        article="16 KiB, 24 KiB, 0.08 us",
        ours=f"{size} B, {size * factor(4):.0f} B, {took:.4f} us",
        figures=(size, size * factor(4), took),
        verdict=Verdict.HOLDS,
        command=COMMAND,
    )


def _large_message() -> Claim:
    spec = _decode(128)
    nvlink, pcie = (all_reduce_s(spec, link.gb_per_s) * 1e6 for link in (NVLINK3, PCIE4))
    return Claim(
        number=15,
        source="B",
        claim="batch 128: 3 MiB moved, on NVLink and on PCIe (32 GB/s)",
        article="10 us, 93 us",
        ours=f"{nvlink:.2f} us, {pcie:.1f} us",
        figures=(nvlink, pcie),
        verdict=Verdict.HOLDS,
        command=COMMAND,
    )


def _steps() -> Claim:
    eight, sixteen = factor(8) / factor(4) - 1, factor(16) / factor(8) - 1
    return Claim(
        number=29,
        source="B",
        claim="N=4 to 8 and 8 to 16 add to the volume",
        article="17 %, 7 %",
        ours=f"{eight:.1%}, {sixteen:.1%}",
        figures=(eight, sixteen),
        verdict=Verdict.HOLDS,
        command=COMMAND,
    )
