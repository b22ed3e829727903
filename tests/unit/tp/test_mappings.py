"""f and g with one rank of a group played by hand: what they send, own and leave alone."""

from collections.abc import Iterator
from typing import NoReturn

import pytest
import torch
from torch import Tensor

from workers.contract.axes import Block, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape
from workers.tp.blocks import draw_shard
from workers.tp.group import DoneAtOnce, NoCollectives, TensorParallelGroup
from workers.tp.mappings import copy_to_ranks, reduce_from_ranks
from workers.tp.sharded_block import forward_sequences


class Doubling(DoneAtOnce):
    """As if the other rank held the same tensor: sums in place, notes where."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        assert tensor.is_contiguous(), f"{where}: a backend refuses strided tensors"
        self.calls.append(where)
        return tensor.mul_(2)

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> Tensor:
        self.calls.append(where)
        return whole.copy_(torch.cat((part, part)))

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> Tensor:
        self.calls.append(where)
        return part.copy_(2 * whole[: part.shape[0]])

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> NoReturn:
        pytest.fail(f"{where} sent {tuple(tensor.shape)} from {source} to {target}")


class Elsewhere(Doubling):
    """Sums into a tensor of its own, as a collective with its own buffers does."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        self.calls.append(where)
        return tensor * 2


class Forbidden(DoneAtOnce):
    """A group of one has nobody to talk to."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> NoReturn:
        pytest.fail(f"{where} sent {tuple(tensor.shape)}")

    def all_gather(self, part: Tensor, whole: Tensor, *, where: str) -> NoReturn:
        pytest.fail(f"{where} gathered {tuple(part.shape)} to {tuple(whole.shape)}")

    def reduce_scatter(self, whole: Tensor, part: Tensor, *, where: str) -> NoReturn:
        pytest.fail(f"{where} scattered {tuple(whole.shape)} to {tuple(part.shape)}")

    def send_recv(self, tensor: Tensor, *, source: int, target: int, where: str) -> NoReturn:
        pytest.fail(f"{where} sent {tuple(tensor.shape)} from {source} to {target}")


def spec_of(block: Block, *, tp_degree: int, gated: bool = True) -> PointSpec:
    shape = ModelShape.model_validate(
        {
            "hidden_size": 12,
            "intermediate_size": 20,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "gated": gated,
        }
    )
    return PointSpec(
        model=shape, block=block, phase=Phase.TRAIN, tp_degree=tp_degree, batch=2, seq=3
    )


@pytest.mark.parametrize("collectives", [Doubling(), Elsewhere()], ids=lambda c: type(c).__name__)
def test_g_sums_forward_and_f_sums_backward(collectives: Doubling) -> None:
    """Each is the identity the other way."""
    group = TensorParallelGroup(rank=0, size=2, collectives=collectives)
    x_TH = torch.randn(3, 4, requires_grad=True)
    weight = torch.randn(4, 4)
    copied_TH = copy_to_ranks(x_TH, group, where="backward")
    assert torch.equal(copied_TH, x_TH)
    out_TH = reduce_from_ranks(copied_TH @ weight, group, where="forward")
    torch.testing.assert_close(out_TH, 2 * x_TH @ weight)
    grad_TH = torch.randn(3, 4)
    (grad_x_TH,) = torch.autograd.grad(out_TH, x_TH, grad_TH)
    torch.testing.assert_close(grad_x_TH, 2 * grad_TH @ weight.T)
    assert collectives.calls == ["forward", "backward"]


def test_an_input_without_grad_skips_the_backward_sum() -> None:
    """The trap that the proof's count is there for: autograd has no reason to call f."""
    collectives = Doubling()
    group = TensorParallelGroup(rank=0, size=2, collectives=collectives)
    weight = torch.randn(4, 4, requires_grad=True)
    out_TH = copy_to_ranks(torch.randn(3, 4), group, where="backward") @ weight
    torch.autograd.grad(out_TH.sum(), weight)
    assert collectives.calls == []


def test_a_second_derivative_is_refused_instead_of_wrong() -> None:
    """Nothing sums the second derivative over the ranks."""
    group = TensorParallelGroup(rank=0, size=2, collectives=Doubling())
    x_TH = torch.randn(3, 4, requires_grad=True)
    out_TH = copy_to_ranks(x_TH, group, where="backward").square()
    (grad_TH,) = torch.autograd.grad(out_TH.sum(), x_TH, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad_TH.sum().backward()


@pytest.mark.parametrize("block", list(Block))
@pytest.mark.parametrize("num_steps", [1, 3])
def test_sums_in_place_never_reach_a_tensor_of_the_caller(block: Block, num_steps: int) -> None:
    """Input, output, output's gradient and weights keep their bits; every step is the same."""
    spec = spec_of(block, tp_degree=2)
    group = TensorParallelGroup(rank=0, size=2, collectives=Doubling())
    shard = draw_shard(spec, rank=0, seed=0, device=torch.device("cpu"), dtype=torch.float32)
    x_BSH, grad_BSH = torch.randn(2, 3, 12, requires_grad=True), torch.randn(2, 3, 12)
    before = [tensor.detach().clone() for tensor in (x_BSH, grad_BSH, *shard.weights)]
    steps = []
    for _ in range(num_steps):
        out_BSH = forward_sequences(shard, x_BSH, group)
        output = out_BSH.detach().clone()
        gradients = torch.autograd.grad(out_BSH, (x_BSH, *shard.weights), grad_BSH)
        assert torch.equal(out_BSH, output)
        steps.append((output, *(gradient.clone() for gradient in gradients)))
    after = (x_BSH, grad_BSH, *shard.weights)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    for step in steps:
        assert all(torch.equal(a, b) for a, b in zip(step, steps[0], strict=True))


@pytest.mark.parametrize("block", list(Block))
def test_a_strided_input_sends_contiguous_tensors_all_the_same(block: Block) -> None:
    """One sequence stored the other way round flattens to a view; its gradient would be strided."""
    spec = spec_of(block, tp_degree=2)
    group = TensorParallelGroup(rank=0, size=2, collectives=Doubling())
    shard = draw_shard(spec, rank=0, seed=0, device=torch.device("cpu"), dtype=torch.float32)
    x_BSH = torch.randn(1, 12, 3).transpose(1, 2).requires_grad_()
    out_BSH = forward_sequences(shard, x_BSH, group)
    (grad_BSH,) = torch.autograd.grad(out_BSH, x_BSH, torch.ones_like(out_BSH))
    assert grad_BSH.shape == x_BSH.shape


@pytest.mark.parametrize("block", list(Block))
def test_hooks_and_retained_gradients_see_whole_gradients(block: Block) -> None:
    """A hook on the input runs after f, so it sees the sum; .backward() accumulates the same."""
    spec = spec_of(block, tp_degree=2)
    group = TensorParallelGroup(rank=0, size=2, collectives=Doubling())
    shard = draw_shard(spec, rank=0, seed=0, device=torch.device("cpu"), dtype=torch.float32)
    leaf, grad_BSH = torch.randn(2, 3, 12, requires_grad=True), torch.randn(2, 3, 12)
    seen: list[Tensor] = []
    x_BSH = leaf * 1
    x_BSH.retain_grad()
    x_BSH.register_hook(lambda grad: seen.append(grad.clone()))
    forward_sequences(shard, x_BSH, group).backward(grad_BSH)
    assert leaf.grad is not None
    assert x_BSH.grad is not None
    torch.testing.assert_close(leaf.grad, seen[0])
    torch.testing.assert_close(x_BSH.grad, seen[0])


@pytest.mark.parametrize("block", list(Block))
@pytest.mark.parametrize("gated", [False, True])
def test_a_group_of_one_has_nothing_of_ours_in_its_graph(block: Block, *, gated: bool) -> None:
    spec = spec_of(block, tp_degree=1, gated=gated)
    group = TensorParallelGroup(rank=0, size=1, collectives=Forbidden())
    shard = draw_shard(spec, rank=0, seed=0, device=torch.device("cpu"), dtype=torch.float32)
    x_BSH = torch.randn(2, 3, 12, requires_grad=True)
    out_BSH = forward_sequences(shard, x_BSH, group)
    torch.autograd.grad(out_BSH, (x_BSH, *shard.weights), torch.ones_like(out_BSH))
    assert not [name for name in node_names(out_BSH) if "Ranks" in name]


def test_compute_only_collectives_keep_shapes_and_send_nothing() -> None:
    timed = TensorParallelGroup(rank=1, size=2, collectives=Forbidden())
    group = timed.with_collectives(NoCollectives())
    assert (group.rank, group.size) == (1, 2)
    shard = draw_shard(
        spec_of(Block.LAYER, tp_degree=2),
        rank=1,
        seed=0,
        device=torch.device("cpu"),
        dtype=torch.float32,
    )
    x_BSH = torch.randn(2, 3, 12, requires_grad=True)
    out_BSH = forward_sequences(shard, x_BSH, group)
    assert out_BSH.shape == x_BSH.shape
    assert sum("Ranks" in name for name in node_names(out_BSH)) == 4


def node_names(output: Tensor) -> Iterator[str]:
    """Names of all autograd nodes below `output`, each once."""
    pending, seen = [output.grad_fn], set()
    while pending:
        node = pending.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node.name()
            pending += [parent for parent, _ in node.next_functions]
