"""Claims 16 to 21: what decode and prefill spend on compute and on communication."""

from service.analysis.claims.claim import Claim, Verdict
from service.analysis.claims.published import NVLINK3
from service.analysis.claims.ring import PEAK_FLOP_PER_S, all_reduce_s
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.point import PointSpec
from workers.contract.presets import PRESETS
from workers.contract.workload import expected_messages, flops_per_rank, weights_per_rank

LLAMA_7B = PRESETS["llama-2-7b"].shape
B_MEMORY_BYTES_PER_S = 2e12
"""B's round figure for an A100."""
B_FLOOR_US = (10.0, 30.0)
DECODE = (
    """echo '{"models": "llama-2-7b", "blocks": ["mlp", "attention"], "phase": "decode", """
    """"tp_degree": [1, 2], "batch": 1}' | tpsweep submit -"""
)


def claims() -> tuple[Claim, ...]:
    """In their order."""
    return (_floor(), _reading(), _batch_1(), _prefill(), _overlap(), _faster_collectives())


def _mlp(phase: Phase, *, seq: int = 1) -> PointSpec:
    return PointSpec(
        model=LLAMA_7B,
        block=Block.MLP,
        phase=phase,
        tp_degree=4,
        batch=1,
        seq=seq,
        dtype=Dtype.BFLOAT16,
    )


def reading_us(elements: int) -> float:
    """Reading a bf16 matrix once."""
    return elements * Dtype.BFLOAT16.num_bytes / B_MEMORY_BYTES_PER_S * 1e6


def _floor() -> Claim:
    return Claim(
        number=16,
        source="B",
        claim="NCCL's latency floor of small messages dominates decode at batch 1",
        article="10 to 30 us",
        ours="the median time of messages up to 8 KiB is measured, not computed",
        figures=(),
        verdict=Verdict.DEPENDS,
        command=DECODE,
    )


def _reading() -> Claim:
    square = reading_us(LLAMA_7B.hidden_size * LLAMA_7B.hidden_size // 4)
    down = reading_us(LLAMA_7B.hidden_size * LLAMA_7B.intermediate_size // 4)
    whole = reading_us(weights_per_rank(_mlp(Phase.DECODE)))
    return Claim(
        number=17,
        source="B",
        claim="7B, TP=4, 2 TB/s: the MLP's down-projection [4096, 1024] is read in",
        article="4.2 us",
        ours=f"{square:.3f} us for that matrix, which is a shard of attention's output; the "
        f"down-projection's is [4096, {LLAMA_7B.intermediate_size // 4}], {down:.1f} us, the gated "
        f"MLP's {whole:.1f} us",
        figures=(square, down, whole),
        verdict=Verdict.IN_PART,
        command="tpsweep claims",
    )


def _batch_1() -> Claim:
    whole = reading_us(weights_per_rank(_mlp(Phase.DECODE)))
    low, high = B_FLOOR_US
    return Claim(
        number=18,
        source="B",
        claim="batch-1 decode: communication takes longer than compute, more so at larger TP",
        article="longer",
        ours=f"{whole:.1f} us of reading for the MLP's shard against a floor of {low:g} to "
        f"{high:g} us: not decided by arithmetic",
        figures=(whole,),
        verdict=Verdict.DEPENDS,
        command=DECODE,
    )


def _prefill() -> Claim:
    spec = _mlp(Phase.PREFILL, seq=2048)
    hidden = LLAMA_7B.hidden_size
    one = 2 * spec.num_tokens * hidden * hidden // 4 / PEAK_FLOP_PER_S * 1e6
    whole = flops_per_rank(spec) / PEAK_FLOP_PER_S * 1e6
    sent = all_reduce_s(spec, NVLINK3.gb_per_s) * 1e6
    size = expected_messages(spec)[0].message_bytes / 1e6
    share = sent / (whole + sent)
    return Claim(
        number=19,
        source="B",
        claim="prefill of 2048: GEMM [2048,4096]x[4096,1024] at 312 TFLOP/s, AllReduce",
        article="hundreds of us, 10 us: a few percent",
        ours=f"that GEMM {one:.1f} us, its AllReduce of {size:.1f} MB {sent:.1f} us; the whole "
        f"gated MLP {whole:.1f} us, share {share:.1%}",
        figures=(one, sent, whole, share),
        verdict=Verdict.DOES_NOT_FOLLOW,
        command="tpsweep claims",
    )


def _overlap() -> Claim:
    return Claim(
        number=20,
        source="B",
        claim="overlap hides the AllReduce in prefill and cannot in batch-1 decode",
        article="hidden; not hidden",
        ours="exposed communication, step minus compute-only step, is measured for every point",
        figures=(),
        verdict=Verdict.DEPENDS,
        command=DECODE.replace('"decode"', '["prefill", "decode"]'),
    )


def _faster_collectives() -> Claim:
    bound = 1 - 1 / 1.11
    return Claim(
        number=21,
        source="B",
        claim="1.11x faster decode with other collectives means AllReduce is this much of a step",
        article="about 10 %",
        ours=f"at least {bound:.1%}: reached only if the AllReduce vanished",
        figures=(bound,),
        verdict=Verdict.IN_PART,
        command=DECODE.replace('"batch": 1', '"batch": 1, "collective_impl": ["auto", "one_shot"]'),
    )
