from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.analysis import plan
from service.errors import InvalidSpecError, QuotaError
from tests.unit.api.nodes import GIB, node
from workers.contract.axes import Phase
from workers.contract.hardware import NodeFacts
from workers.contract.memory import estimated_bytes
from workers.contract.sweep import SweepSpec


def spec(**fields: object) -> SweepSpec:
    given: dict[str, object] = {
        "models": "pythia-31m",
        "blocks": "mlp",
        "tp_degree": [1, 2],
        "batch": [1, 2],
    }
    return SweepSpec.model_validate(given | fields)


def test_everything_stays_where_no_node_is_known() -> None:
    expansion = plan.expand(spec(tp_degree=[1, 64], batch=1 << 20), nodes=[], max_points=100)
    assert [point.tp_degree for point in expansion.points] == [1, 64]


def test_a_grid_over_the_quota_is_refused_with_count_and_limit() -> None:
    with pytest.raises(QuotaError, match="4 combinations, and a sweep may have 3"):
        plan.expand(spec(), nodes=[], max_points=3)


def test_a_grid_of_exactly_the_quota_passes() -> None:
    assert len(plan.expand(spec(), nodes=[], max_points=4).points) == 4


def test_a_huge_grid_is_refused_without_expanding_it() -> None:
    many = list(range(1, 1001))
    huge = spec(batch=many, seq=many, tp_degree=list(range(1, 65)))
    began = process_time()
    with pytest.raises(QuotaError, match="64000000 combinations"):
        plan.expand(huge, nodes=[], max_points=10_000)
    assert process_time() - began < 1


def test_a_degree_that_no_node_has_devices_for_is_rejected_with_those_that_work() -> None:
    nodes = [node(num_slots=2), node(name="b", num_slots=4)]
    expansion = plan.expand(spec(tp_degree=[4, 8]), nodes=nodes, max_points=100)
    assert {point.tp_degree for point in expansion.points} == {4}
    rejection = expansion.rejected[0]
    assert (rejection.field, rejection.value) == ("tp_degree", 8)
    assert "largest known node has 4" in rejection.reason
    assert rejection.valid_tp_degrees == (1, 2, 4)


def test_a_point_that_no_device_has_memory_for_is_rejected_with_degrees_that_fit() -> None:
    asked = spec(models="llama-2-70b", tp_degree=[1, 8], batch=1)
    one, eight = (estimated_bytes(point) for point in asked.expand().points)
    nodes = [node(num_slots=8, slot_memory_bytes=(one + eight) // 2)]
    expansion = plan.expand(asked, nodes=nodes, max_points=100)
    assert [point.tp_degree for point in expansion.points] == [8]
    rejection = expansion.rejected[0]
    assert (rejection.field, rejection.value) == ("estimated_bytes", one)
    assert "GiB" in rejection.reason
    assert rejection.valid_tp_degrees[-1] == 8
    assert 1 not in rejection.valid_tp_degrees


def test_a_cache_beyond_all_memory_is_rejected_with_what_it_takes() -> None:
    asked = spec(
        models="llama-2-7b", blocks="layer", phase="decode", tp_degree=[1, 8], batch=64, seq=65536
    )
    expansion = plan.expand(
        asked, nodes=[node(num_slots=8, slot_memory_bytes=40 * GIB)], max_points=9
    )
    assert [point.tp_degree for point in expansion.points] == [8]
    (rejection,) = expansion.rejected
    assert "(128.0 GiB of it for batch=64 x seq=65536 cached tokens)" in rejection.reason
    assert rejection.valid_tp_degrees == (4, 8)


def test_an_arrangement_that_a_block_cannot_have_is_refused_by_its_own_name() -> None:
    asked = spec(blocks="attention", arrangement=["row_row"], tp_degree=1)
    expansion = plan.expand(asked, nodes=[node()], max_points=9)
    with pytest.raises(InvalidSpecError, match="can be measured") as caught:
        plan.refuse_nothing_left(expansion)
    assert caught.value.errors[0].pointer == "/arrangement"
    assert "works for block=mlp" in caught.value.errors[0].detail


def test_memory_and_devices_must_be_on_the_same_node() -> None:
    asked = spec(models="llama-2-70b", tp_degree=4, batch=1)
    nodes = [
        node(num_slots=8, slot_memory_bytes=GIB // 1024),
        node(name="b", num_slots=2, slot_memory_bytes=500 * GIB),
    ]
    assert plan.expand(asked, nodes=nodes, max_points=100).points == ()


def test_a_node_that_could_not_tell_its_memory_is_not_held_against_a_point() -> None:
    asked = spec(models="llama-3-405b", tp_degree=1, batch=1)
    assert plan.expand(asked, nodes=[node(slot_memory_bytes=0)], max_points=100).points


def test_only_nodes_of_the_wanted_kind_count() -> None:
    nodes = [node(accelerator="NVIDIA H100", num_slots=2), node(name="b", num_slots=8)]
    asked = spec(tp_degree=[2, 4], where={"accelerator": "h100"})
    expansion = plan.expand(asked, nodes=nodes, max_points=100)
    assert {point.tp_degree for point in expansion.points} == {2}


def test_a_kind_that_no_node_is_of_is_refused_with_those_that_exist() -> None:
    nodes: list[NodeFacts] = [node(accelerator="NVIDIA H100")]
    with pytest.raises(InvalidSpecError, match="NVIDIA H100") as caught:
        plan.expand(spec(where={"accelerator": "B200"}), nodes=nodes, max_points=100)
    assert caught.value.errors[0].pointer == "/where/accelerator"


def test_a_sweep_of_which_nothing_is_left_is_refused_with_every_reason_once() -> None:
    expansion = plan.expand(spec(tp_degree=[3, 5]), nodes=[], max_points=100)
    with pytest.raises(InvalidSpecError) as caught:
        plan.refuse_nothing_left(expansion)
    assert len(caught.value.errors) == 2
    assert caught.value.errors[0].pointer == "/models/*/intermediate_size"
    assert "tp_degree=3" in caught.value.errors[0].detail
    assert "1, 2, 4" in caught.value.detail


def test_a_sweep_of_which_something_is_left_passes() -> None:
    plan.refuse_nothing_left(plan.expand(spec(tp_degree=[2, 3]), nodes=[], max_points=100))


def test_the_estimate_counts_every_trial_at_its_limit() -> None:
    asked = spec(replicates=3, sampling={"max_time_s": 2})
    assert plan.estimated_s(asked, num_points=4) > 3 * 4 * 2
    assert plan.estimated_s(asked, num_points=0) == 0


def test_an_implementation_that_no_device_has_is_rejected_with_those_that_there_are() -> None:
    asked = spec(collective_impl=["auto", "shared_memory", "one_shot"])
    expansion = plan.expand(asked, nodes=[node()], max_points=100)
    assert {point.collective_impl for point in expansion.points} == {"backend", "shared_memory"}
    rejection = expansion.rejected[0]
    assert (rejection.field, rejection.value) == ("collective_impl", "one_shot")
    assert "they have backend, shared_memory" in rejection.reason


def test_a_sweep_of_such_an_implementation_alone_is_refused_naming_the_field() -> None:
    expansion = plan.expand(spec(collective_impl="two_shot"), nodes=[node()], max_points=100)
    with pytest.raises(InvalidSpecError, match="devices lack two_shot") as caught:
        plan.refuse_nothing_left(expansion)
    assert caught.value.errors[0].pointer == "/collective_impl"


@given(
    phase=st.sampled_from(list(Phase)),
    batch=st.integers(min_value=2, max_value=1 << 16),
    seq=st.integers(min_value=1, max_value=4096),
    share=st.floats(min_value=0.01, max_value=0.99),
)
def test_the_batch_that_is_said_to_fit_does_and_hardly_more(
    phase: Phase, batch: int, seq: int, share: float
) -> None:
    asked = spec(
        models="llama-2-7b", blocks="layer", phase=phase, batch=batch, seq=seq, tp_degree=2
    )
    (point,) = asked.expand().points
    room = int(share * estimated_bytes(point))
    nodes = [node(num_slots=8, slot_memory_bytes=room)]
    (rejection,) = plan.expand(asked, nodes=nodes, max_points=9).rejected
    if rejection.field == "estimated_bytes":
        assert estimated_bytes(point.model_copy(update={"batch": 1})) > room
        return
    assert (rejection.field, rejection.value) == ("batch", batch)
    largest = int(rejection.reason.split("a batch up to ")[1].split()[0])
    below, above = (
        estimated_bytes(point.model_copy(update={"batch": b})) for b in (largest, largest + 2)
    )
    assert below <= room < above
