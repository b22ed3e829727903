"""What arrangements keep, send and leave alone, with ranks as threads."""

from functools import partial

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.unit.tp.specs import point_specs
from tests.unit.tp.thread_ranks import ThreadCollectives, run_ranks
from workers.contract.activations import kept_activations
from workers.contract.axes import Arrangement, Phase
from workers.contract.layouts import LAYOUTS
from workers.contract.point import PointSpec
from workers.tp.arrangements.registry import ARRANGEMENTS
from workers.tp.blocks import draw_shard
from workers.tp.group import NoCollectives, TensorParallelGroup
from workers.tp.sharded_block import forward_sequences
from workers.tp.step import StepInputs, run_step

CPU = torch.device("cpu")


def test_every_arrangement_of_the_contract_is_registered() -> None:
    assert set(ARRANGEMENTS) == set(LAYOUTS) == set(Arrangement)


@settings(max_examples=200)
@given(spec=point_specs(), seed=st.integers(0, 2**31))
def test_a_training_step_keeps_what_the_contract_counts(spec: PointSpec, seed: int) -> None:
    """Every tensor that autograd saves, each once, but for weights."""
    spec = spec.model_copy(update={"phase": Phase.TRAIN, "batch": 2 * spec.batch})
    inputs = StepInputs.draw(spec, seed=seed, device=CPU, dtype=torch.float32)

    def count(group: TensorParallelGroup, _: ThreadCollectives) -> int:
        block = draw_shard(spec, rank=group.rank, seed=seed, device=CPU, dtype=torch.float32)
        own = inputs.own(spec, rank=group.rank).copy(torch.float32, spec.phase)
        weights = {weight.untyped_storage().data_ptr() for weight in block.weights}
        kept: dict[int, int] = {}

        def note(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            output = forward_sequences(block, own.x, group)
            if spec.num_layers == 1 or group.rank == 0:
                note(own.x)  # else it was given another
            note(output)
            return sum(size for at, size in kept.items() if at not in weights)

    assert set(run_ranks(spec.tp_degree, count)) == {kept_activations(spec)}


@settings(max_examples=100)
@given(spec=point_specs(), seed=st.integers(0, 2**31))
def test_without_collectives_a_step_has_the_same_shapes(spec: PointSpec, seed: int) -> None:
    """The compute-only pass: equal products, nothing sent."""
    group = TensorParallelGroup(spec.tp_degree - 1, spec.tp_degree, NoCollectives())
    inputs = StepInputs.draw(spec, seed=seed, device=CPU, dtype=torch.float32)
    block = draw_shard(spec, rank=group.rank, seed=seed, device=CPU, dtype=torch.float32)
    own = inputs.own(spec, rank=group.rank).copy(torch.float32, spec.phase)
    output, *gradients = run_step(
        partial(forward_sequences, block, group=group), block.weights, own, spec.phase
    )
    assert output.shape == spec.input_shape
    if spec.phase.has_backward:
        assert [g.shape for g in gradients] == [t.shape for t in (own.x, *block.weights)]
