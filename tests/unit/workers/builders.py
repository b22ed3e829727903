"""Contract objects with everything filled in that a test does not care about."""

from workers.contract.axes import Block, Pass, Phase
from workers.contract.hardware import DeviceFacts, Environment
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.sweep import Sampling
from workers.contract.trial import PassSamples, Proof, RankResult, Span, TrialOrder

TINY = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}


def point(**overrides: object) -> PointSpec:
    fields: dict[str, object] = {
        "model": ModelShape.model_validate(TINY),
        "block": Block.MLP,
        "phase": Phase.TRAIN,
        "tp_degree": 2,
        "batch": 2,
        "seq": 4,
    }
    return PointSpec.model_validate(fields | overrides)


def order(**overrides: object) -> TrialOrder:
    return TrialOrder(
        trial_id="t",
        attempt=1,
        replicate=0,
        point=point(**overrides),
        sampling=Sampling(max_time_s=0.05),
        seed=1,
        deadline_s=30,
    )


ENVIRONMENT = Environment(
    hostname="host",
    os="Linux 6",
    python="3.11.7",
    torch="2.13.0",
    backend="gloo",
    cpu_model="some CPU",
    num_cores=2,
    num_threads=1,
    realtime_io=True,
    flush_denormal=True,
    variables={},
    load_average=0.1,
)


def rank_result(
    rank: int,
    *,
    step_ns: tuple[int, ...] = (1_000,),
    spans: tuple[Span, ...] = (),
    shared_clock: bool = True,
    peak_memory_bytes: int = 1,
    quality: tuple[str, ...] = (),
) -> RankResult:
    samples = PassSamples(step_ns=step_ns, forward_ns=step_ns)
    return RankResult(
        rank=rank,
        device=DeviceFacts(kind="cpu", index=rank, name="some CPU", memory_bytes=1),
        environment=ENVIRONMENT,
        passes=dict.fromkeys(Pass, samples),
        spans=spans,
        shared_clock=shared_clock,
        proof=Proof(
            max_abs_error=0,
            max_rel_error=0,
            tolerance=1e-9,
            dtype="float64",
            num_collectives=2,
            collective_bytes=64,
        ),
        num_warmup_steps=6,
        stop_rule="interval",
        peak_memory_bytes=peak_memory_bytes,
        quality=quality,
        wall_ns=2_000,
        timed_ns=1_000,
    )
