import pytest

from service.analysis import calibration_plan
from service.errors import QuotaError
from tests.unit.api.nodes import node
from workers.contract.calibration import CalibrationSpec, ProductGrid


def spec(**fields: object) -> CalibrationSpec:
    return CalibrationSpec.model_validate({"tp_degree": 1, "time_s": 3600.0, **fields})


def refused(asked: CalibrationSpec, *, max_points: int) -> QuotaError:
    with pytest.raises(QuotaError) as refusal:
        calibration_plan.complete(asked, nodes=[node()], max_points=max_points)
    return refusal.value


def test_a_calibration_over_the_quota_is_refused_before_its_probes_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        CalibrationSpec, "probes", lambda *_args, **_fields: pytest.fail("expanded")
    )
    wide = ProductGrid(widths=tuple(range(16, 19_016)), largest_gflop=1.0)
    error = refused(spec(products=wide), max_points=10_000)
    assert [one.pointer for one in error.errors] == ["/products/widths"]
    assert f"{5 * 19_000**2} of them" in str(error)


def test_the_field_that_asks_for_the_most_is_named() -> None:
    sizes = list(range(1024, 4096, 4))
    (error,) = refused(spec(copied_bytes=sizes), max_points=len(sizes)).errors
    assert error.pointer == "/copied_bytes"


def test_a_calibration_of_exactly_the_quota_passes() -> None:
    few = ProductGrid(widths=(256,), largest_gflop=1.0)
    asked = spec(products=few, collective_impl="backend", max_bytes=1024)
    assert sum(asked.combinations_by_field(few).values()) == 3 + 5
    completed, _probes = calibration_plan.complete(asked, nodes=[node()], max_points=3 + 5 + 1)
    assert completed.products == few
    refused(asked, max_points=3 + 5)
