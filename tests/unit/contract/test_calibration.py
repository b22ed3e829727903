import pytest
from pydantic import TypeAdapter, ValidationError

from tests.unit.contract.points import point
from workers.contract.axes import Collective, CollectiveImpl, Dtype
from workers.contract.calibration import (
    COPIED_BYTES,
    PRODUCTS,
    AnySweepSpec,
    CalibrationSpec,
    ProductGrid,
)
from workers.contract.probe import CollectiveProbe, CopyProbe, GemmProbe, Measurable, Probe
from workers.contract.sweep import SweepSpec

BACKEND = CollectiveImpl.BACKEND
FEW = ProductGrid(widths=(256,), largest_gflop=0.1)


def probes(dtype: Dtype = Dtype.FLOAT32, **fields: object) -> tuple[Probe, ...]:
    given: dict[str, object] = {"collective_impl": "backend", "max_bytes": 4096}
    return CalibrationSpec.model_validate(given | fields).probes(dtype=dtype, products=FEW).points


def collectives(found: tuple[Probe, ...]) -> list[CollectiveProbe]:
    return [one for one in found if isinstance(one, CollectiveProbe)]


def test_messages_double_from_1_kib_and_are_whole_for_every_rank() -> None:
    found = collectives(probes(tp_degree=[1, 3], collectives="all_gather"))
    assert [one.message_bytes for one in found] == [1020, 2040, 4092]
    assert {one.tp_degree for one in found} == {3}


def test_an_implementation_of_the_all_reduce_alone_gives_its_curve_alone() -> None:
    found = collectives(probes(tp_degree=2, collective_impl=["backend", "shared_memory"]))
    shared = [one for one in found if one.collective_impl is CollectiveImpl.SHARED_MEMORY]
    assert {one.op for one in shared} == {Collective.ALL_REDUCE}
    assert len(found) == 4 * 3


def test_symmetric_memory_is_asked_only_for_what_torch_has() -> None:
    assert not collectives(probes(tp_degree=3, collective_impl="one_shot"))
    assert not collectives(probes(Dtype.FLOAT16, tp_degree=2, collective_impl="one_shot"))
    assert collectives(probes(tp_degree=2, collective_impl="one_shot"))


def test_products_too_long_are_left_out() -> None:
    found = [one for one in probes(tp_degree=[1, 2]) if isinstance(one, GemmProbe)]
    assert {one.m for one in found} == {1, 8, 64, 512}
    assert {one.tp_degree for one in found} == {1, 2}


def test_memory_is_copied_by_each_number_of_ranks_in_whole_elements() -> None:
    found = [
        one
        for one in probes(tp_degree=[1, 2], copied_bytes=[1026, 4096])
        if isinstance(one, CopyProbe)
    ]
    assert [(one.tp_degree, one.moved_bytes) for one in found] == [
        (1, 2048),
        (1, 8192),
        (2, 2048),
        (2, 8192),
    ]


def test_every_probe_has_a_key_of_its_own_and_comes_back_from_its_document() -> None:
    spec = CalibrationSpec.model_validate(
        {
            "tp_degree": [1, 2],
            "collective_impl": ["backend", "shared_memory"],
            "copied_bytes": COPIED_BYTES["cpu"],
        }
    )
    found = spec.probes(dtype=Dtype.FLOAT32, products=PRODUCTS["cpu"]).points
    assert len({one.spec_key for one in found}) == len(found)
    adapter = TypeAdapter[Measurable](Measurable)
    for one in (*found, point()):
        assert adapter.validate_json(adapter.dump_json(one)) == one


def test_a_stored_sweep_is_read_as_what_it_is() -> None:
    adapter = TypeAdapter[AnySweepSpec](AnySweepSpec)
    grid = SweepSpec.model_validate(
        {"models": "pythia-31m", "blocks": "mlp", "tp_degree": 2, "batch": 1}
    )
    spec = CalibrationSpec(tp_degree=(1, 2), collective_impl=(BACKEND,), copied_bytes=(1 << 20,))
    for one in (grid, spec):
        assert adapter.validate_json(adapter.dump_json(one)) == one
    before_copies = adapter.dump_python(spec, mode="json", exclude={"copied_bytes"})
    read = adapter.validate_python(before_copies)
    assert read == spec.model_copy(update={"copied_bytes": ()})


@pytest.mark.parametrize(
    "wrong", [{"collectives": "send_recv"}, {"tp_degree": [2, 2]}, {"max_bytes": 1}, {"models": 1}]
)
def test_what_has_no_curve_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CalibrationSpec.model_validate(wrong)


@pytest.mark.parametrize(
    ("twice", "once"),
    [
        ({"collective_impl": ["auto", "backend"]}, {"collective_impl": "backend"}),
        ({"collectives": ["all_reduce"] * 2}, {"collectives": "all_reduce"}),
        ({"copied_bytes": [4096, 4099, 4096]}, {"copied_bytes": 4096}),
    ],
)
def test_what_is_named_twice_is_measured_once(
    twice: dict[str, object], once: dict[str, object]
) -> None:
    found = [probes(Dtype.FLOAT32, tp_degree=[1, 2], **fields) for fields in (twice, once)]
    assert found[0] == found[1]


def test_repeats_do_not_multiply_the_work() -> None:
    often = 20_000
    spec = CalibrationSpec.model_validate(
        {
            "tp_degree": 2,
            "collective_impl": ["backend"] * often,
            "collectives": ["all_reduce"] * often,
            "copied_bytes": [4096] * often,
            "products": {"widths": [256] * often, "largest_gflop": 0.1},
        }
    )
    assert spec.products is not None
    assert len(spec.probes(dtype=Dtype.FLOAT32, products=spec.products).points) == 15 + 4 + 1


@pytest.mark.parametrize("max_bytes", [1024, 1025, 2047, 2048, 1 << 24])
def test_combinations_are_counted_without_expanding_them(max_bytes: int) -> None:
    spec = CalibrationSpec.model_validate(
        {
            "tp_degree": [2, 4],
            "collective_impl": "backend",
            "copied_bytes": [4096, 8192],
            "max_bytes": max_bytes,
        }
    )
    every = ProductGrid(widths=(256, 512), largest_gflop=1e5)
    found = spec.probes(dtype=Dtype.FLOAT32, products=every).points
    assert sum(spec.combinations_by_field(every).values()) == len(found)


def test_a_width_that_is_named_twice_is_measured_once() -> None:
    spec = CalibrationSpec(tp_degree=(1,), collective_impl=(BACKEND,))
    twice = ProductGrid(widths=(256, 256), largest_gflop=FEW.largest_gflop)
    found = [spec.probes(dtype=Dtype.FLOAT32, products=grid) for grid in (twice, FEW)]
    assert found[0] == found[1]
