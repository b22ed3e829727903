"""Our MLP step against the same of megatron-core's ColumnParallelLinear and RowParallelLinear.

    pip download --no-deps megatron-core && unzip -d /tmp/megatron megatron_core-*.whl
    PYTHONPATH=/tmp/megatron:. python -m tests.bench.against_megatron [hidden ...]

Its wheel (0.16.1 was tried) runs on a CPU as far as its linear layers, with CPU initialisation and
without fused gradients; its layer specifications with attention ask for a CUDA device. It is no
dependency of ours: unpacked beside. As `tests.bench.against_dtensor` otherwise; there is no goal
of its own but to be no slower.
"""

import pkgutil
import sys
from collections.abc import Sequence
from functools import partial
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from tests.bench.against_dtensor import (
    DEGREES,
    GOALS,
    NUM_TOKENS,
    TheirStep,
    by_turns,
    our_block,
    spec_of,
)
from tests.bench.pair_of_ranks import BenchRank, run_ranks
from tests.bench.ratios import ratios_of, report
from workers.contract.axes import Block
from workers.prepare import step_of
from workers.timing.clocks import Step


class MegatronMlp(nn.Module):
    """Plain, without biases; tensors are [S, B, H] as there."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        layers = "megatron.core.tensor_parallel.layers"
        config = pkgutil.resolve_name("megatron.core.model_parallel_config:ModelParallelConfig")(
            use_cpu_initialization=True, gradient_accumulation_fusion=False
        )
        given = {"config": config, "init_method": nn.init.normal_, "bias": False}
        column = pkgutil.resolve_name(f"{layers}:ColumnParallelLinear")
        row = pkgutil.resolve_name(f"{layers}:RowParallelLinear")
        self.up = column(hidden, 4 * hidden, gather_output=False, **given)
        self.down = row(4 * hidden, hidden, input_is_parallel=True, skip_bias_add=False, **given)

    def forward(self, x_SBH: Tensor) -> Tensor:
        """[S, B, H]."""
        up, _ = self.up(x_SBH)
        down: Tensor
        down, _ = self.down(F.gelu(up))
        return down


def compare(rank: BenchRank, *, hidden: int) -> bool:
    """Print the ratio on rank 0; return whether ours is no slower."""
    spec = spec_of(Block.MLP, hidden, rank.group.size)
    x_TH, grad_TH = (torch.randn(NUM_TOKENS, hidden) for _ in range(2))
    block = our_block(spec, rank.group)
    steps: dict[str, Step] = {
        "ours": step_of(spec, block, (x_TH.clone().requires_grad_(), grad_TH), rank.group),
        "theirs": TheirStep(
            MegatronMlp(hidden), x_TH.unsqueeze(1).requires_grad_(), grad_TH.unsqueeze(1)
        ),
    }
    ratios = ratios_of(by_turns(rank, spec, steps), "ours", "theirs")
    if rank.is_first:
        report("against_megatron", ratios, hidden=hidden, tp_degree=rank.group.size, goal=1.0)
    return median(ratios) <= 1.0


def compare_all(rank: BenchRank, *, hidden: Sequence[int]) -> bool:
    """Every width."""
    start = pkgutil.resolve_name("megatron.core.parallel_state:initialize_model_parallel")
    start(tensor_model_parallel_size=rank.group.size)
    are_met = [compare(rank, hidden=width) for width in hidden]
    return all(are_met)


def main(arguments: Sequence[str]) -> int:
    """Return 0 where ours is nowhere slower."""
    hidden = [int(argument) for argument in arguments] or list(GOALS)
    are_met = [run_ranks(degree, partial(compare_all, hidden=hidden)) for degree in DEGREES]
    return 0 if all(are_met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
