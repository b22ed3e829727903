"""Our sharded step against torch's own: `parallelize_module` with Colwise and Rowwise.

    python -m tests.bench.against_dtensor [hidden ...]

MLP, attention and layer, forward and gradients of input and weights, float32, 256 tokens in one
sequence, at tp_degree 1 and 2 over gloo, each rank pinned to a core. Both sides run in the same
processes and take turns ABBA, block of steps by block of steps; a block counts its median step, of
the slower rank. Goals for the median ratio ours/theirs: see GOALS.

Theirs is what torch's tutorials and torchtitan write: Linear layers apart for q, k and v, the
attention's input made a DTensor once, so that one all-reduce serves all three, plain norms. Before
timing, a step of either side must send the same number of collectives. Megatron-core: see
`tests.bench.against_megatron`.

`least` is what no step over the same kernels can go below: the bare one of `tests.bench.bare` over
theirs, in the same rounds. Where all of its interval is above the goal, `is_reachable` is false:
what is left of the step is products and activation, which both sides run alike, and only a slower
wrapper on their side or faster kernels under both could bring the ratio down.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from tests.bench.bare import BareStep, bare_block
from tests.bench.pair_of_ranks import BenchRank, run_ranks
from tests.bench.ratios import median_interval, ratios_of, report, there_and_back
from workers.contract.axes import Block, Collective, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.workload import flops_per_rank
from workers.prepare import step_of
from workers.timing.clocks import Step
from workers.tp.blocks import draw_shard
from workers.tp.counter import CollectiveCounter
from workers.tp.group import TensorParallelGroup
from workers.tp.sharded_block import ShardedBlock

GOALS = {256: 0.70, 512: 0.92, 1024: 0.98, 2048: 0.98}
NUM_TOKENS = 256
HEAD_DIM = 64
DEGREES = (1, 2)
REPEATS = 9
FLOPS_PER_BLOCK = 6e9


class Mlp(nn.Module):
    """Plain, without biases."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(hidden, 4 * hidden, bias=False)
        self.down = nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, x_BSH: Tensor) -> Tensor:
        """[B, S, H]."""
        down: Tensor = self.down(F.gelu(self.up(x_BSH)))
        return down


class Attention(nn.Module):
    """Causal, as many key-value heads as query heads."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (
            nn.Linear(hidden, hidden, bias=False) for _ in range(4)
        )

    def forward(self, x_BSH: Tensor) -> Tensor:
        """[B, S, H]."""
        batch, seq, _ = x_BSH.shape
        q, k, v = (
            part(x_BSH).view(batch, seq, -1, HEAD_DIM).transpose(1, 2)
            for part in (self.wq, self.wk, self.wv)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.wo(mixed.transpose(1, 2).reshape(batch, seq, -1))
        return out


class Layer(nn.Module):
    """Pre-norm, as ours."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden, bias=False)
        self.attention = Attention(hidden)
        self.mlp_norm = nn.LayerNorm(hidden, bias=False)
        self.mlp = Mlp(hidden)

    def forward(self, x_BSH: Tensor) -> Tensor:
        """[B, S, H]."""
        x_BSH = x_BSH + self.attention(self.attention_norm(x_BSH))
        out: Tensor = x_BSH + self.mlp(self.mlp_norm(x_BSH))
        return out


def parallelize(block: Block, hidden: int, mesh: DeviceMesh) -> nn.Module:
    """Cut torch's block over the mesh."""
    mlp = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    attention = {
        "wq": ColwiseParallel(),
        "wk": ColwiseParallel(),
        "wv": ColwiseParallel(),
        "wo": RowwiseParallel(),
    }
    once = PrepareModuleInput(input_layouts=(Replicate(),), desired_input_layouts=(Replicate(),))
    if block is Block.MLP:
        return parallelize_module(Mlp(hidden), mesh, mlp)
    if block is Block.ATTENTION:
        module = parallelize_module(Attention(hidden), mesh, attention)
        return parallelize_module(module, mesh, once)
    layer = Layer(hidden)
    plan = {f"mlp.{name}": style for name, style in mlp.items()}
    plan |= {f"attention.{name}": style for name, style in attention.items()}
    return parallelize_module(layer, mesh, {**plan, "attention": once})


class TheirStep:
    """The same of a torch module."""

    def __init__(self, module: nn.Module, x_BSH: Tensor, grad_BSH: Tensor) -> None:
        self._module, self._x_BSH, self._grad_BSH = module, x_BSH, grad_BSH
        self._wanted = (x_BSH, *module.parameters())
        self.has_backward = True

    def forward(self) -> Tensor:
        """y_BSH."""
        out: Tensor = self._module(self._x_BSH)
        return out

    def backward(self, output: Tensor) -> None:
        """Gradients of input and weights, returned and dropped."""
        torch.autograd.grad(output, self._wanted, self._grad_BSH)


def our_block(spec: PointSpec, group: TensorParallelGroup) -> ShardedBlock:
    """Ours, as it is measured."""
    cpu = torch.device("cpu")
    return draw_shard(spec, rank=group.rank, seed=1, device=cpu, dtype=torch.float32)


def spec_of(block: Block, hidden: int, degree: int) -> PointSpec:
    """One sequence of 256 tokens."""
    shape = {
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
        "num_attention_heads": hidden // HEAD_DIM,
    }
    return PointSpec(
        model=ModelShape.model_validate(shape),
        block=block,
        phase=Phase.TRAIN,
        tp_degree=degree,
        batch=1,
        seq=NUM_TOKENS,
    )


def count(step: Step) -> int:
    """Collectives of one step."""
    with CollectiveCounter() as counter:
        step.backward(step.forward())
    return sum(message.op in set(Collective) for message in counter.messages)


def by_turns(rank: BenchRank, spec: PointSpec, steps: Mapping[str, Step]) -> list[dict[str, float]]:
    """Rounds over blocks of as many steps as make them long enough."""
    num_steps = max(1, round(FLOPS_PER_BLOCK / flops_per_rank(spec)))
    runs = {name: rank.block(step, num_steps=num_steps) for name, step in steps.items()}
    for run in runs.values():
        run()
    return there_and_back(runs, repeats=REPEATS)


def compare(rank: BenchRank, spec: PointSpec, mesh: DeviceMesh) -> bool:
    """Print the ratio on rank 0; return whether it meets its goal."""
    hidden, group = spec.model.hidden_size, rank.group
    x_TH, grad_TH = (torch.randn(NUM_TOKENS, hidden) for _ in range(2))
    block = our_block(spec, group)
    steps: dict[str, Step] = {
        "ours": step_of(spec, block, (x_TH.clone().requires_grad_(), grad_TH), group),
        "bare": BareStep(bare_block(spec, block.weights, group), x_TH, grad_TH),
        "theirs": TheirStep(
            parallelize(spec.block, hidden, mesh), x_TH[None].requires_grad_(), grad_TH[None]
        ),
    }
    torch.testing.assert_close(steps["bare"].forward(), steps["ours"].forward())
    sent = {name: count(step) for name, step in steps.items()}
    assert len(set(sent.values())) == 1 or group.size == 1, sent
    rounds = by_turns(rank, spec, steps)
    ratios, goal = ratios_of(rounds, "ours", "theirs"), GOALS[hidden]
    leasts = ratios_of(rounds, "bare", "theirs")
    if rank.is_first:
        report(
            "against_dtensor",
            ratios,
            block=spec.block,
            hidden=hidden,
            tp_degree=spec.tp_degree,
            collectives=sent["ours"],
            goal=goal,
            least=round(median(leasts), 4),
            is_reachable=median_interval(leasts)[0] <= goal,
            load=round(os.getloadavg()[0], 2),
        )
    return median(ratios) <= goal


def compare_all(rank: BenchRank, *, hidden: Sequence[int]) -> bool:
    """Every block at every width; whether all goals are met."""
    degree = rank.group.size
    mesh = init_device_mesh("cpu", (degree,))
    cases = [spec_of(block, size, degree) for size in hidden for block in Block]
    are_met = [compare(rank, spec, mesh) for spec in cases]
    return all(are_met)


def main(arguments: Sequence[str]) -> int:
    """Return 0 where every goal is met."""
    hidden = [int(argument) for argument in arguments] or list(GOALS)
    body = partial(compare_all, hidden=hidden)
    are_met = [run_ranks(degree, body) for degree in DEGREES]
    return 0 if all(are_met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
