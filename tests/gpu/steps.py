"""Points and timed steps of a size that the device is good for."""

from statistics import median

import torch

from tests.gpu.ranks import CheckRank
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.point import PointSpec
from workers.contract.presets import PRESETS
from workers.contract.shapes import ModelShape
from workers.prepare import draw_inputs, step_of
from workers.timing.clocks import Step, StepTime, clock_for
from workers.tp.blocks import draw_shard
from workers.tp.group import TensorParallelGroup

SMALL = ModelShape.model_validate(
    {"hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 8}
)
LLAMA = PRESETS["llama-2-70b"].shape
NUM_STEPS = 20


def spec_of(rank: CheckRank, **fields: object) -> PointSpec:
    """A point of the size that the device is good for."""
    chosen: dict[str, object] = {
        "model": SMALL,
        "block": Block.MLP,
        "phase": Phase.TRAIN,
        "tp_degree": rank.group.size,
        "batch": 4,
        "seq": 64,
    }
    return PointSpec.model_validate(chosen | fields)


def shard_spec(rank: CheckRank, block: Block, degree: int) -> PointSpec:
    """One rank's part of Llama-2-70B where there is a GPU, of a small model elsewhere."""
    large = {"model": LLAMA, "batch": 1, "seq": 2048, "dtype": Dtype.BFLOAT16}
    return spec_of(rank, block=block, tp_degree=degree, **(large if rank.is_gpu else {}))


def draw_step(spec: PointSpec, group: TensorParallelGroup, device: torch.device) -> Step:
    """One step of a shard with its own weights."""
    dtype: torch.dtype = getattr(torch, spec.dtype)
    block = draw_shard(spec, rank=group.rank, seed=1, device=device, dtype=dtype)
    inputs = draw_inputs(spec, seed=2, device=device, dtype=dtype)
    return step_of(spec, block, inputs, group)


def times_of(step: Step, device: torch.device, *, num_steps: int = NUM_STEPS) -> list[StepTime]:
    """Timed steps after a few to warm up."""
    clock = clock_for(device)
    return [clock.time(step) for _ in range(3 + num_steps)][3:]


def typical_us(times: list[StepTime]) -> float:
    """Median step."""
    return round(median(time.step_ns for time in times) / 1e3, 1)
