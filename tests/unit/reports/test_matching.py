"""Points that differ in what they are: refused, unless it is said that they may."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from service.analysis.summary import TrialSummary
from service.errors import InvalidRequestError, NotComparableError
from service.reports.comparison import report
from service.reports.matching import check_fields, refuse_different
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import HARDWARE, point
from tests.unit.reports.measured import measured_trial, with_control
from workers.contract.axes import Dtype
from workers.contract.hardware import Hardware

OTHER = Hardware(accelerator="B", memory_class_gib=80, num_devices=2, fabric="host_memory")


def side(
    name: str,
    *,
    batches: Sequence[int] = (1, 2),
    dtype: Dtype = Dtype.FLOAT32,
    hardware: Hardware = HARDWARE,
    factor: float = 1,
) -> list[MeasuredTrial]:
    specs = [point(batch=batch).model_copy(update={"dtype": dtype}) for batch in batches]
    return [
        replace(
            measured_trial(spec, replicate=r, sweep_id=name, step_us=100 * factor * (1 + r / 1000)),
            hardware=hardware,
            hardware_key=hardware.hardware_key,
        )
        for spec in specs
        for r in range(3)
    ]


def refuse(old: list[MeasuredTrial], new: list[MeasuredTrial], *allowed: str) -> NotComparableError:
    with pytest.raises(NotComparableError) as caught:
        refuse_different(old, new, allowed=allowed, pointer="?allow_different")
    return caught.value


def test_each_field_that_keeps_the_sides_apart_is_named_with_its_values() -> None:
    error = refuse(side("a"), side("b", dtype=Dtype.BFLOAT16, hardware=OTHER))
    assert [one.detail for one in error.errors] == [
        "dtype: float32 against bfloat16; allow_different=dtype lets it differ",
        "hardware.accelerator: Test CPU against B; allow_different=hardware lets it differ",
        "hardware.memory_class_gib: 0 against 80; allow_different=hardware lets it differ",
    ]
    still = refuse(side("a"), side("b", dtype=Dtype.BFLOAT16, hardware=OTHER), "hardware")
    assert [one.detail.partition(";")[0] for one in still.errors] == [
        "dtype: float32 against bfloat16"
    ]


def test_points_are_then_matched_by_all_other_fields() -> None:
    old, new = side("a"), side("b", dtype=Dtype.BFLOAT16, hardware=OTHER, factor=0.5)
    allowed = ("dtype", "hardware")
    refuse_different(old, new, allowed=allowed, pointer="")
    found = report(old, new, baseline_name="a", candidate_name="b", allow_different=allowed)
    assert [one.verdict for one in found.points] == ["faster", "faster"]
    assert [one.spec.batch for one in found.points] == [1, 2]
    differing = {one.field: (one.baseline, one.candidate) for one in found.differences}
    assert differing["dtype"] == (("float32",), ("bfloat16",))
    assert differing["hardware.accelerator"] == (("Test CPU",), ("B",))
    assert found.allowed_different == allowed


def test_each_hardware_is_taken_at_its_own_quietest() -> None:
    """Twice as fast by itself, and seen on a host that was ever slower: both are told apart."""
    old = [with_control(one, 200, 400) for one in side("a")]
    busy = zip(side("b", hardware=OTHER, factor=0.5), (1, 1.5, 2, 1, 1.4, 1.6), strict=True)
    new = [
        with_control(replace(one, summary=slower(one, host)), 100 * host, 200 * host)
        for one, host in busy
    ]
    told = report(old, new, baseline_name="a", candidate_name="b", allow_different=("hardware",))
    assert told.overall is not None
    assert told.overall.normalised_ratio == pytest.approx(0.5, rel=0.02)
    assert told.overall.ratio > 0.65
    assert "normalised by the control 0.5" in told.sentence
    assert "% wide" in told.sentence
    assert "the host alone, as the control shows it, changed by a factor of 1." in told.sentence


def slower(trial: MeasuredTrial, host: float) -> TrialSummary:
    times = ("step_time_us", "compute_time_us")
    return trial.summary.model_copy(
        update={name: getattr(trial.summary, name) * host for name in times}
    )


def test_one_side_may_not_hold_two_of_what_is_left_out_of_the_match() -> None:
    both = [*side("a"), *side("a", dtype=Dtype.BFLOAT16)]
    error = refuse(both, side("b"), "dtype")
    assert error.errors[0].detail == "dtype: the baseline has bfloat16, float32 of one point"
    assert error.detail.endswith("select one for the baseline, as baseline=dtype:…")


def test_points_in_common_are_compared_though_others_are_not() -> None:
    refuse_different(side("a"), side("b", batches=(2, 4)), allowed=(), pointer="")
    refuse_different(side("a"), [], allowed=(), pointer="")
    crossed = [*side("b", batches=(1,), hardware=OTHER), *side("b", batches=(4,))]
    refuse_different(side("a", batches=(1,)), crossed, allowed=(), pointer="")


def test_a_field_that_no_point_has_is_refused() -> None:
    check_fields(("hardware", "model.gated", "dtype"), pointer="?allow_different")
    with pytest.raises(InvalidRequestError, match="'gpu' is no field of a point; there are model"):
        check_fields(("gpu",), pointer="?allow_different")
