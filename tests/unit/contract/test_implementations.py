import pytest

from tests.unit.api.nodes import node
from tests.unit.contract.points import point, shape
from workers.contract.axes import Arrangement, CollectiveImpl, Dtype
from workers.contract.hardware import NodeFacts
from workers.contract.implementations import impls_of, judge_impl, judge_impl_on
from workers.contract.sweep import SweepSpec


def node_of(*, machine: str = "", memory_gib: int = 0) -> NodeFacts:
    facts = node()
    return facts.model_copy(
        update={
            "environment": facts.environment.model_copy(update={"machine": machine}),
            "hardware": facts.hardware.model_copy(update={"memory_class_gib": memory_gib}),
        }
    )


@pytest.mark.parametrize(
    ("facts", "impls"),
    [
        (node_of(machine="x86_64"), ["backend", "shared_memory"]),
        (node_of(), ["backend", "shared_memory"]),
        (node_of(machine="aarch64"), ["backend"]),
        (node_of(machine="x86_64", memory_gib=80), ["backend", "one_shot", "two_shot"]),
        (node_of(machine="aarch64", memory_gib=80), ["backend", "one_shot", "two_shot"]),
    ],
    ids=["x86 CPU", "CPU of unknown kind", "Arm CPU", "GPU", "GPU beside an Arm CPU"],
)
def test_devices_have_the_implementations_that_work_on_them(
    facts: NodeFacts, impls: list[str]
) -> None:
    assert list(impls_of(facts)) == impls


@pytest.mark.parametrize("impl", CollectiveImpl)
def test_some_device_of_the_fleet_suffices(impl: CollectiveImpl) -> None:
    fleet = [node_of(machine="x86_64"), node_of(memory_gib=80)]
    assert judge_impl_on(point(collective_impl=impl), fleet) is None


def test_what_no_device_has_is_rejected_naming_the_field_and_what_works() -> None:
    asked = point(collective_impl=CollectiveImpl.SHARED_MEMORY)
    rejection = judge_impl_on(asked, [node_of(machine="aarch64"), node_of(memory_gib=80)])
    assert rejection is not None
    assert (rejection.field, rejection.value) == ("collective_impl", "shared_memory")
    assert "they have backend, one_shot, two_shot" in rejection.reason


@pytest.mark.parametrize("impl", [CollectiveImpl.ONE_SHOT, CollectiveImpl.TWO_SHOT])
@pytest.mark.parametrize(
    ("tp_degree", "dtype", "says"),
    [
        (2, Dtype.BFLOAT16, ""),
        (8, Dtype.FLOAT32, ""),
        (3, Dtype.FLOAT32, "tp_degree 2, 4 and 8, not 3"),
        (2, Dtype.FLOAT16, "float32 and bfloat16, not float16"),
    ],
)
def test_symmetric_memory_takes_what_its_kernels_take(
    impl: CollectiveImpl, tp_degree: int, dtype: Dtype, says: str
) -> None:
    rejection = judge_impl(point(collective_impl=impl, tp_degree=tp_degree, dtype=dtype))
    assert (rejection is None) is (not says)
    if rejection is not None:
        assert rejection.field == "collective_impl"
        assert says in rejection.reason


def test_the_backend_takes_all() -> None:
    assert judge_impl(point(tp_degree=3, dtype=Dtype.FLOAT16)) is None


def test_symmetric_memory_takes_whole_words() -> None:
    odd = point(
        shape(hidden=33),
        collective_impl=CollectiveImpl.ONE_SHOT,
        tp_degree=2,
        dtype=Dtype.BFLOAT16,
        batch=1,
        seq=1,
    )
    rejection = judge_impl(odd)
    assert rejection is not None
    assert "whole 4 bytes, not of 66" in rejection.reason
    assert judge_impl(odd.model_copy(update={"tp_degree": 1})) is None, "alone, nothing is sent"


def test_a_sweep_leaves_out_what_its_implementation_cannot_do() -> None:
    asked = {
        "models": shape(),
        "blocks": "mlp",
        "tp_degree": [2, 4, 16],
        "batch": 4,
        "collective_impl": ["backend", "one_shot"],
    }
    expansion = SweepSpec.model_validate(asked).expand()
    kept = [(p.tp_degree, str(p.collective_impl)) for p in expansion.points]
    assert kept == [(d, i) for d in (2, 4) for i in ("backend", "one_shot")] + [(16, "backend")]
    (rejection,) = expansion.rejected
    assert rejection.valid_tp_degrees == (1, 2, 4, 8)


def test_auto_is_the_backend() -> None:
    fields = {"models": "gpt2", "blocks": "mlp", "tp_degree": 2, "batch": 1}
    spec = SweepSpec.model_validate({**fields, "collective_impl": "auto"})
    assert spec.collective_impl == (CollectiveImpl.BACKEND,)


@pytest.mark.parametrize("impl", [impl for impl in CollectiveImpl if impl != "backend"])
@pytest.mark.parametrize("arrangement", Arrangement)
def test_an_implementation_of_the_all_reduce_alone_is_refused_where_more_is_sent(
    impl: CollectiveImpl, arrangement: Arrangement
) -> None:
    spec = point(tp_degree=2, batch=8).model_copy(
        update={"collective_impl": impl, "arrangement": arrangement}
    )
    rejection = judge_impl(spec)
    if arrangement in (Arrangement.COLUMN_ROW, Arrangement.REPLICATED):
        assert rejection is None
        return
    assert rejection is not None
    assert (rejection.field, rejection.value) == ("collective_impl", impl)
    other = "send_recv" if arrangement is Arrangement.LAYER_SPLIT else "all_gather"
    assert f"arrangement={arrangement} also needs {other}" in rejection.reason
    assert "collective_impl=backend works" in rejection.reason
    alone = spec.model_copy(update={"tp_degree": rejection.valid_tp_degrees[0]})
    assert judge_impl(alone) is None
