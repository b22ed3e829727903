"""Our MLP step over the least that it could be: its six products and two all-reduces, bare.

    python -m tests.bench.limit [hidden ...]

2048 tokens, tp_degree 2 over gloo, float32 and bfloat16; the reference writes into memory that is
there, without autograd. What our step takes beyond it is split by references that come nearer:

    activation            + GELU and its gradient, into memory that is there
    gradient allocation   + all results in new memory
    rest                  what remains: autograd, our Functions, Python

All four are interleaved in rounds A B C D D C B A; parts are differences of ratios to the bare
reference, so that they add up. Goals: ours at most 1.10 of the bare reference in float32, and at
most 1.10 of the one with activation in bfloat16.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

import torch
from torch import Tensor

from tests.bench.bare import BareMlp, BareStep
from tests.bench.pair_of_ranks import BenchRank, run_ranks
from tests.bench.ratios import ratios_of, report, there_and_back
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.prepare import step_of
from workers.timing.clocks import Step
from workers.tp.blocks import draw_shard
from workers.tp.group import TensorParallelGroup

HIDDEN = (1024, 2048)
NUM_TOKENS = 2048
MOST_ROUNDS, FEWEST_ROUNDS = 7, 3
ENOUGH_S = 120.0
"""Of rounds, where the fewest are not longer."""

GOAL = 1.10


class AllocatingStep:
    """The bare step with activation; every result is new, and dropped when the step is over.

    Legend: T tokens, H hidden, F this rank's inner width.
    """

    has_backward = True
    _kept: tuple[Tensor, ...] = ()

    def __init__(
        self, weights: Sequence[Tensor], x_TH: Tensor, grad_TH: Tensor, group: TensorParallelGroup
    ) -> None:
        self._up_FH, self._down_HF = weights
        self._x_TH, self._grad_TH, self._group = x_TH, grad_TH, group

    def forward(self) -> Tensor:
        """Keeps what backward reads."""
        up_TF = torch.mm(self._x_TH, self._up_FH.T)
        inner_TF = torch.ops.aten.gelu(up_TF)
        self._kept = (up_TF, inner_TF)
        y_TH = torch.mm(inner_TF, self._down_HF.T)
        return self._group.collectives.all_reduce(y_TH, where="mlp.forward")

    def backward(self, output: Tensor) -> None:
        """Gradients of input and weights are held together, as a caller would have them."""
        del output
        up_TF, inner_TF = self._kept
        dinner_TF = torch.mm(self._grad_TH, self._down_HF)
        ddown_HF = torch.mm(self._grad_TH.T, inner_TF)
        dup_TF = torch.ops.aten.gelu_backward(dinner_TF, up_TF)
        dx_TH = torch.mm(dup_TF, self._up_FH)
        self._group.collectives.all_reduce(dx_TH, where="mlp.backward")
        dup_FH = torch.mm(dup_TF.T, self._x_TH)
        del ddown_HF, dup_FH
        self._kept = ()


def measure(rank: BenchRank, steps: Mapping[str, Step]) -> list[dict[str, float]]:
    """Rounds of single steps; fewer of them where a CPU emulates the dtype and takes minutes."""
    runs = {name: rank.block(step, num_steps=1) for name, step in steps.items()}
    for run in runs.values():
        run()  # warms up
    first = there_and_back(runs, repeats=1)
    round_s = sum(first[0].values()) / 1e9  # of the slower rank: the same on both
    more = min(MOST_ROUNDS, max(FEWEST_ROUNDS, int(ENOUGH_S / round_s))) - 1
    return first + there_and_back(runs, repeats=more)


def compare(rank: BenchRank, *, hidden: int, dtype: Dtype) -> bool:
    """Print the ratios and their split on rank 0; return whether the goal is met."""
    spec = _spec(hidden, dtype, rank.group.size)
    torch_dtype: torch.dtype = getattr(torch, dtype)
    cpu = torch.device("cpu")
    block = draw_shard(spec, rank=rank.group.rank, seed=1, device=cpu, dtype=torch_dtype)
    x_TH, grad_TH = (torch.randn(NUM_TOKENS, hidden).to(torch_dtype) for _ in range(2))
    weights = [weight.detach() for weight in block.weights]
    bare, active = (
        BareMlp(weights, rank.group, tokens=NUM_TOKENS, activates=activates)
        for activates in (False, True)
    )
    steps: dict[str, Step] = {
        "bare": BareStep(bare, x_TH, grad_TH),
        "activation": BareStep(active, x_TH, grad_TH),
        "allocating": AllocatingStep(weights, x_TH, grad_TH, rank.group),
        "ours": step_of(spec, block, (x_TH.clone().requires_grad_(), grad_TH), rank.group),
    }
    rounds = measure(rank, steps)
    ratios = {name: ratios_of(rounds, name, "bare") for name in steps}
    middle = {name: median(values) for name, values in ratios.items()}
    judged = middle["ours"] if dtype is Dtype.FLOAT32 else middle["ours"] / middle["activation"]
    if rank.is_first:
        report(
            "limit",
            ratios["ours"],
            hidden=hidden,
            dtype=dtype,
            activation=round(middle["activation"] - 1, 4),
            gradient_allocation=round(middle["allocating"] - middle["activation"], 4),
            rest=round(middle["ours"] - middle["allocating"], 4),
            judged=round(judged, 4),
            goal=GOAL,
            load=round(os.getloadavg()[0], 2),
        )
    return judged <= GOAL


def compare_all(rank: BenchRank, *, hidden: Sequence[int]) -> bool:
    """Every width and dtype; whether all goals are met."""
    are_met = [
        compare(rank, hidden=width, dtype=dtype)
        for width in hidden
        for dtype in (Dtype.FLOAT32, Dtype.BFLOAT16)
    ]
    return all(are_met)


def _spec(hidden: int, dtype: Dtype, degree: int) -> PointSpec:
    shape = {"hidden_size": hidden, "intermediate_size": 4 * hidden, "num_attention_heads": 8}
    return PointSpec(
        model=ModelShape.model_validate(shape),
        block=Block.MLP,
        phase=Phase.TRAIN,
        tp_degree=degree,
        batch=1,
        seq=NUM_TOKENS,
        dtype=dtype,
    )


def main(arguments: Sequence[str]) -> int:
    """Return 0 where every goal is met."""
    hidden = [int(argument) for argument in arguments] or list(HIDDEN)
    return 0 if run_ranks(2, partial(compare_all, hidden=hidden)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
