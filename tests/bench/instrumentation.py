"""What our clean pass costs: its MLP step against a bare torch loop, one process, one rank.

    python -m tests.bench.instrumentation

Both train the same MLP (forward, gradients of input and weights, 256 tokens, float32) on one pinned
thread; goal: median ratio at most 1.02. The bare loop has none of our code but the weights' values.
"""

import sys
import time
from statistics import median

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from tests.bench.ratios import abba, report
from workers.contract.axes import Block, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.contract.workload import flops_per_rank
from workers.prepare import step_of
from workers.runtime.scheduling import pin, usable_cores
from workers.timing.clocks import HostClock
from workers.timing.peers import Peers
from workers.tp.blocks import draw_shard
from workers.tp.group import NoCollectives, TensorParallelGroup

NUM_TOKENS = 256
FLOPS_PER_TURN = 13e9
"""Short turns and many: what a shared host does to one of them lasts longer than the turn."""
REPEATS = 101


def compare(hidden: int) -> float:
    """Median ratio of our step to the bare one at this width."""
    shape = {"hidden_size": hidden, "intermediate_size": 4 * hidden, "num_attention_heads": 8}
    spec = PointSpec(
        model=ModelShape.model_validate(shape),
        block=Block.MLP,
        phase=Phase.TRAIN,
        tp_degree=1,
        batch=NUM_TOKENS,
        seq=1,
    )
    cpu = torch.device("cpu")
    block = draw_shard(spec, rank=0, seed=1, device=cpu, dtype=torch.float32)
    x_TH, grad_TH = (torch.randn(NUM_TOKENS, hidden) for _ in range(2))
    inputs = (x_TH.clone().requires_grad_(), grad_TH)
    step = step_of(spec, block, inputs, TensorParallelGroup(0, 1, NoCollectives()))
    num_steps = max(1, round(FLOPS_PER_TURN / flops_per_rank(spec)))
    clock, peers = HostClock(), Peers(None, clock_identity="")
    up, down = (weight.detach().clone().requires_grad_() for weight in block.weights)
    x_TH.requires_grad_()

    def ours() -> float:
        times = []
        for _ in range(num_steps):
            peers.begin_together()
            times.append(clock.time(step)[1])
        return median(times)

    def bare() -> float:
        times = []
        for _ in range(num_steps):
            begin = time.perf_counter_ns()
            y = F.linear(F.gelu(F.linear(x_TH, up)), down)
            torch.autograd.grad(y, (x_TH, up, down), grad_TH)
            times.append(time.perf_counter_ns() - begin)
        return median(times)

    ours(), bare()
    ratios = abba(ours, bare, repeats=REPEATS)
    return report("instrumentation", ratios, hidden=hidden, tokens=NUM_TOKENS, goal=1.02)


def main() -> int:
    """Return 0 where every width meets the goal."""
    pin(usable_cores()[0])
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    return 0 if max([compare(512), compare(1024)]) <= 1.02 else 1


if __name__ == "__main__":
    sys.exit(main())
