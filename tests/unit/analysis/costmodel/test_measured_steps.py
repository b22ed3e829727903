import math
import random

import pytest

from service.analysis.costmodel.gemm import Roofline
from service.analysis.costmodel.measured_steps import from_steps
from service.analysis.costmodel.prediction import Basis, total
from service.analysis.costmodel.step import products
from workers.contract.axes import Block, Phase
from workers.contract.catalogue import resolve_model
from workers.contract.point import PointSpec

TRUE = Roofline(overhead_us=4, flops_per_us=5e4, bytes_per_us=2e4)


def point(model: str, tp_degree: int, batch: int) -> PointSpec:
    return PointSpec(
        model=resolve_model(model),
        block=Block.LAYER,
        phase=Phase.PREFILL,
        tp_degree=tp_degree,
        batch=batch,
        seq=16,
    )


def true_us(spec: PointSpec) -> float:
    return sum(
        TRUE.time_us(product, element_bytes=spec.dtype.num_bytes) for product in products(spec)
    )


STEPS = [
    (spec, true_us(spec) * random.Random(batch).uniform(0.97, 1.03))
    for degree in (1, 2)
    for batch in (1, 4, 16, 64)
    for spec in [point("gpt2", degree, batch)]
]


@pytest.mark.parametrize(
    ("model", "tp_degree", "batch", "basis"),
    [("gpt2", 4, 32, Basis.EXTRAPOLATED), ("pythia-31m", 1, 8, Basis.FITTED)],
)
def test_points_of_other_models_and_degrees_follow_from_measured_ones(
    model: str, tp_degree: int, batch: int, basis: Basis
) -> None:
    """A degree that was not measured is extrapolation, whatever the work."""
    steps, spec = from_steps(STEPS, calibration="test"), point(model, tp_degree, batch)
    found = total([steps.product_time(product, point=spec) for product in products(spec)])
    assert found.basis is basis
    assert found.time_us == pytest.approx(true_us(spec), rel=0.06)


def test_far_more_work_than_was_measured_is_extrapolation() -> None:
    steps, spec = from_steps(STEPS, calibration="test"), point("gpt2", 1, 1024)
    assert steps.product_time(next(products(spec)), point=spec).basis is Basis.EXTRAPOLATED


def test_the_band_grows_with_the_noise() -> None:
    noisy = [(spec, time * (1.5 if spec.batch == 4 else 1)) for spec, time in STEPS]
    calm, loud = (from_steps(one, calibration="") for one in (STEPS, noisy))
    assert loud.spread > 2 * calm.spread


def test_how_far_another_shape_is_off_is_told_by_shapes_that_were_held_out() -> None:
    """A larger shape takes 1.5 times longer, as where a cache no longer holds it: at any degree."""
    wide = resolve_model("gpt2").model_copy(
        update={"hidden_size": 1536, "intermediate_size": 6144, "head_dim": 128}
    )
    larger = [spec.model_copy(update={"model": wide}) for spec, _ in STEPS]
    slower = [(spec, 1.5 * true_us(spec)) for spec in larger]
    as_fast = from_steps([*STEPS, *((spec, true_us(spec)) for spec in larger)], calibration="")
    both = from_steps([*STEPS, *slower], calibration="")
    assert as_fast.spread < 0.1
    assert both.spread == pytest.approx(math.log(1.5), abs=0.1)
    assert both.ratio_spread is not None
    assert both.ratio_spread < 0.1, "it cancels in a ratio"
    far, near = point("llama-2-70b", 1, 64), point("gpt2", 1, 16)
    assert both.ratio_spread_of(near) == both.ratio_spread
    assert (both.ratio_spread_of(far) or 0) > 1.5 * both.ratio_spread


def test_readings_of_one_point_are_not_held_out_from_one_another() -> None:
    again = [(spec, 1.01 * time) for spec, time in STEPS]
    assert from_steps([*STEPS, *again], calibration="").spread == pytest.approx(
        from_steps(STEPS, calibration="").spread, rel=0.05
    )


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ("seq", [2**k for k in range(4, 12)]),
        ("batch", [2**k for k in range(8)]),
        ("tp_degree", [1, 2, 3, 4, 6, 12]),
    ],
)
def test_points_that_differ_in_one_axis_alone_are_held_out_from_one_another(
    axis: str, values: list[int]
) -> None:
    """Twelve heads: six degrees, each at two sequences."""
    seqs = (16, 64) if axis == "tp_degree" else (16,)
    alike = [
        point("gpt2", 1, 1).model_copy(update={"seq": seq, axis: value})
        for value in values
        for seq in seqs
    ]
    noise = random.Random(1)
    noisy = [(spec, true_us(spec) * noise.uniform(0.95, 1.05)) for spec in alike]
    steps = from_steps(noisy, calibration="")
    assert 0 < steps.spread < 0.2


def test_a_few_points_are_no_roofline() -> None:
    with pytest.raises(ValueError, match="8 points are the fewest"):
        from_steps(STEPS[:3], calibration="")
