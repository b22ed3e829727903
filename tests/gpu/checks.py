"""What `deploy/gpu_check` looks at. Times are microseconds; every number is measured where it runs.

On a CPU the shapes are small and the ranks are gloo's; what needs a GPU is skipped by name.
"""

import platform
import sys
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor

from tests.gpu.ranks import Check, CheckRank, Facts, SkippedError
from tests.gpu.steps import NUM_STEPS, draw_step, shard_spec, spec_of, times_of, typical_us
from workers.contract.axes import Block, Overlap, Phase
from workers.contract.workload import expected_messages, flops_per_rank
from workers.timing.clocks import clock_for
from workers.timing.graphs import CudaRecorder, GraphedStep
from workers.timing.spans import spans_for
from workers.tp.group import NoCollectives, TensorParallelGroup
from workers.tp.proof import prove

MULTI_RANK = {
    "NCCL_MULTI_RANK_GPU_ENABLE": "1",
    "NCCL_NVLS_ENABLE": "0",
    "NCCL_MAX_CTAS": "4",
}
"""Lets NCCL 2.30 put several ranks on one GPU, which are too few of its multiprocessors each."""


def environment(rank: CheckRank) -> Facts:
    """What it runs on, and that nothing was needed but torch and pydantic."""
    del rank
    has_gpu = torch.cuda.is_available()
    return {
        "device": torch.cuda.get_device_name(0) if has_gpu else f"CPU ({platform.machine()})",
        "torch": torch.__version__,
        "cuda": torch.version.cuda if has_gpu else None,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())) if has_gpu else None,
        "unwanted_modules": [
            name for name in ("ray", "psutil", "sqlalchemy") if name in sys.modules
        ],
    }


def proofs(rank: CheckRank) -> Facts:
    """Output, gradients and collectives of each block and phase against the unsharded twin."""
    reference = torch.float32 if rank.is_gpu else torch.float64
    worst, num_proofs, num_collectives = 0.0, 0, 0
    for block in Block:
        for phase in Phase:
            spec = spec_of(rank, block=block, phase=phase)
            proof = prove(
                spec, group=rank.group, device=rank.device, seed=3, reference_dtype=reference
            )
            worst = max(worst, proof.max_rel_error)
            num_proofs += 1
            num_collectives += proof.num_collectives
    return {
        "num_proofs": num_proofs,
        "num_collectives": num_collectives,
        "max_rel_error": worst,
        "reference_dtype": str(reference),
    }


def sums(rank: CheckRank) -> Facts:
    """One known sum, then the proofs."""
    total = torch.tensor([rank.group.rank + 1.0], device=rank.device)
    dist.all_reduce(total)
    expected = rank.group.size * (rank.group.size + 1) / 2
    assert total.item() == expected, f"the sum is {total.item()}, not {expected}"
    return proofs(rank)


def multi_rank_nccl(rank: CheckRank) -> Facts:
    """Functional only: ranks that share a GPU say nothing of speed."""
    return {**sums(rank), "functional_only": True}


def spans(rank: CheckRank) -> Facts:
    """Time around each collective of a step, by the device's own clock."""
    spec = spec_of(rank)
    messages = expected_messages(spec)
    recorder = spans_for(rank.device, rank.group.collectives, messages=messages)
    group = rank.group.with_collectives(recorder)
    step = draw_step(spec, group, rank.device)
    times_of(step, rank.device, num_steps=0)
    recorder.clear()
    clock = clock_for(rank.device)
    times = [clock.time(step) for _ in range(NUM_STEPS)]
    found = recorder.collect()
    assert [len(span.enter_ns) for span in found] == [NUM_STEPS] * len(messages)
    inside = [
        median(b - a for a, b in zip(span.enter_ns, span.exit_ns, strict=True)) for span in found
    ]
    assert min(inside) > 0, inside
    return {
        "collectives": [span.where for span in found],
        "collectives_us": round(sum(inside) / 1e3, 1),
        "step_us": typical_us(times),
        "clock": "CUDA events" if rank.is_gpu else "host",
    }


def overlap(rank: CheckRank) -> Facts:
    """Each way to send under a product, proved and timed: on a GPU on a stream of its own."""
    facts: Facts = {}
    for mode in Overlap:
        spec = spec_of(rank, overlap=mode)
        reference = torch.float32 if rank.is_gpu else torch.float64
        prove(spec, group=rank.group, device=rank.device, seed=4, reference_dtype=reference)
        times = times_of(draw_step(spec, rank.group, rank.device), rank.device)
        facts[f"{mode}_us"] = typical_us(times)
    return facts


def symmetric_memory(rank: CheckRank) -> Facts:
    """Whether it initialises; its kernels need two GPUs."""
    from torch.distributed import _symmetric_memory as symm_mem  # noqa: PLC0415 - CUDA builds only

    assert rank.process_group is not None
    memory = symm_mem.empty(1 << 20, dtype=torch.uint8, device=rank.device)
    handle = symm_mem.rendezvous(memory, rank.process_group.group_name)
    return {"world_size": handle.world_size, "has_multicast": bool(handle.multicast_ptr)}


def cuda_graphs(rank: CheckRank) -> Facts:
    """Each phase recorded and started as a whole: the same output, its time and its start's."""
    facts: Facts = {}
    for phase in Phase:
        spec = spec_of(rank, phase=phase, block=Block.LAYER, batch=1)
        eager = draw_step(spec, rank.group, rank.device)
        expected: Tensor = eager.forward().detach().clone()
        recorded = GraphedStep(draw_step(spec, rank.group, rank.device), CudaRecorder(rank.device))
        found = recorded.forward()
        torch.cuda.synchronize()
        difference = (found.detach() - expected).abs().max().item()
        assert difference <= 1e-5 * expected.abs().max().item(), difference
        for name, step in (("eager", eager), ("graph", recorded)):
            times = times_of(step, rank.device)
            facts[f"{phase}_{name}_us"] = typical_us(times)
            started = median(time.enqueue_ns or 0 for time in times)
            facts[f"{phase}_{name}_enqueue_us"] = round(started / 1e3, 1)
    return facts


def shards(rank: CheckRank) -> Facts:
    """Compute alone of one rank's part, by tp_degree: Llama-2-70B where there is a GPU."""
    facts: Facts = {"model": "llama-2-70b" if rank.is_gpu else "a small one: there is no GPU"}
    for block in (Block.MLP, Block.ATTENTION):
        for degree in (1, 2, 4, 8):
            spec = shard_spec(rank, block, degree)
            group = TensorParallelGroup(0, degree, NoCollectives())
            times = times_of(draw_step(spec, group, rank.device), rank.device, num_steps=10)
            facts[f"{block}_tp{degree}_us"] = typical_us(times)
    return facts


def ceiling(rank: CheckRank) -> Facts:
    """An MLP step's arithmetic over that of one large product, both as measured here."""
    size, dtype = (8192, torch.bfloat16) if rank.is_gpu else (512, torch.float32)
    a, b = (torch.randn(size, size, device=rank.device).to(dtype) for _ in range(2))
    product = _Product(a, b)
    best_us = min(time.step_ns for time in times_of(product, rank.device)) / 1e3
    highest = 2 * size**3 / best_us / 1e6
    spec = shard_spec(rank, Block.MLP, 1)
    step_us = typical_us(times_of(draw_step(spec, rank.group, rank.device), rank.device))
    reached = flops_per_rank(spec) / step_us / 1e6
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "gemm_tflop_per_s": round(highest, 2),
        "mlp_step_tflop_per_s": round(reached, 2),
        "ratio": round(reached / highest, 3),
    }


class _Product:
    has_backward = False

    def __init__(self, a: Tensor, b: Tensor) -> None:
        self._a, self._b, self._out = a, b, torch.empty_like(a)

    def forward(self) -> Tensor:
        return torch.mm(self._a, self._b, out=self._out)

    def backward(self, output: Tensor) -> None: ...


def all_checks() -> tuple[Check, ...]:
    """In the order they run."""
    single = "nccl" if torch.cuda.is_available() else "gloo"
    checks = (
        Check("environment", environment),
        Check(f"{single} at tp_degree 1", sums, backend=single),
        Check("two ranks over gloo", sums, num_ranks=2, backend="gloo"),
        Check("spans", spans, num_ranks=2, backend="gloo"),
        Check("overlap", overlap, num_ranks=2, backend="gloo"),
        Check("symmetric memory", symmetric_memory, backend=single, limit_s=30, needs_gpu=True),
        Check("CUDA graphs", cuda_graphs, needs_gpu=True),
        Check("shards", shards),
        Check("ceiling", ceiling),
    )
    if torch.cuda.is_available() and torch.cuda.nccl.version() < (2, 30):
        return (*checks, Check("two ranks over NCCL", _too_old))
    two = Check(
        "two ranks over NCCL",
        multi_rank_nccl,
        num_ranks=2,
        backend="nccl",
        needs_gpu=True,
        variables=MULTI_RANK,
        limit_s=40,
    )
    return (*checks, two)


def _too_old(rank: CheckRank) -> Facts:
    del rank
    found = ".".join(map(str, torch.cuda.nccl.version()))
    raise SkippedError(f"NCCL {found} refuses two ranks on one GPU; 2.30 and newer can")
