"""Trials with given times, for tests of what is made of them."""

from collections.abc import Sequence

from workers.contract.axes import Activation, Block, Collective, GroupKind, Pass, Phase
from workers.contract.hardware import DeviceFacts, Environment, Hardware
from workers.contract.point import PointSpec
from workers.contract.probe import Measurable
from workers.contract.shapes import ModelShape
from workers.contract.trial import CollectiveTiming, PassSamples, Proof, TrialResult

SHAPE = ModelShape(
    name="tiny",
    hidden_size=256,
    intermediate_size=1024,
    num_attention_heads=8,
    num_key_value_heads=8,
    head_dim=32,
    activation=Activation.GELU,
)

HARDWARE = Hardware(accelerator="Test CPU", memory_class_gib=0, num_devices=2, fabric="host_memory")

ENVIRONMENT = Environment(
    hostname="node-1",
    os="Linux",
    python="3.11",
    torch="2.13.0",
    backend="gloo",
    cpu_model="Test CPU",
    num_cores=2,
    num_threads=1,
    realtime_io=True,
    flush_denormal=True,
    variables={},
    load_average=0.1,
)

PROOF = Proof(
    max_abs_error=1e-6,
    max_rel_error=1e-5,
    tolerance=1e-3,
    dtype="float64",
    num_collectives=2,
    collective_bytes=2048,
)


def point(*, tp_degree: int = 2, batch: int = 1, phase: Phase = Phase.TRAIN) -> PointSpec:
    return PointSpec(
        model=SHAPE, block=Block.MLP, phase=phase, tp_degree=tp_degree, batch=batch, seq=1
    )


def steps(step_ns: Sequence[int], forward_ns: Sequence[int] | None = None) -> PassSamples:
    return PassSamples(
        step_ns=tuple(step_ns), forward_ns=tuple(step_ns if forward_ns is None else forward_ns)
    )


def timing(
    wire_ns: Sequence[int],
    wait_ns: Sequence[int],
    *,
    where: str = "mlp.forward",
    message_bytes: int = 1024,
) -> CollectiveTiming:
    return CollectiveTiming(
        op=Collective.ALL_REDUCE,
        where=where,
        message_bytes=message_bytes,
        wire_ns=tuple(wire_ns),
        wait_ns=tuple(wait_ns),
    )


def trial(
    samples: dict[Pass, tuple[PassSamples, ...]],
    *,
    collectives: Sequence[CollectiveTiming] = (),
    spec: Measurable | None = None,
) -> TrialResult:
    spec = spec or point()
    return TrialResult(
        point=spec,
        group_kind=GroupKind.FRESH,
        group_id="group-1",
        hardware_key=HARDWARE.hardware_key,
        link_class="host_memory",
        node="node-1",
        environment=ENVIRONMENT,
        devices=tuple(
            DeviceFacts(kind="cpu", index=rank, name="Test CPU", memory_bytes=0)
            for rank in range(spec.tp_degree)
        ),
        samples=samples,
        collectives=tuple(collectives),
        proof=PROOF,
        num_warmup_steps=3,
        stop_rule="interval",
        peak_memory_bytes=1 << 20,
        quality=(),
        wall_ns=10**9,
        timed_ns=10**8,
    )
