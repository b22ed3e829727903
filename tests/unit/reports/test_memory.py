import pytest
from pydantic import ValidationError

from service.errors import InvalidRequestError, QuotaError
from service.reports.memory import MemoryRequest, report
from workers.contract.axes import Phase


def request(**more: object) -> MemoryRequest:
    return MemoryRequest.model_validate({"model": "llama-2-7b", "tp_degree": 1, **more})


def test_every_combination_is_planned_in_the_order_asked() -> None:
    found = report(request(tp_degree=[2, 1], zero_stage=[0, 3], data_parallel=[8]))
    asked = [(one.tp_degree, one.zero_stage, one.data_parallel) for one in found.plans]
    assert asked == [(2, 0, 8), (2, 3, 8), (1, 0, 8), (1, 3, 8)]
    assert found.num_parameters == 6_738_415_616


def test_a_plan_says_whether_it_fits_only_where_the_device_is_known() -> None:
    assert [one.fits for one in report(request(tp_degree=[1, 8])).plans] == [None, None]
    found = report(request(tp_degree=[1, 8], device_memory_gb=80.0))
    assert [one.fits for one in found.plans] == [False, True]


def test_precision_follows_the_phase_unless_given() -> None:
    assert report(request()).precision == "bfloat16_mixed"
    assert report(request(phase=Phase.DECODE)).precision == "bfloat16"
    assert report(request(phase=Phase.DECODE, precision="int8")).precision == "int8"


def test_a_degree_that_does_not_divide_names_those_that_do() -> None:
    with pytest.raises(InvalidRequestError, match="these work: 1, 2, 4, 8, 16, 32") as caught:
        report(request(tp_degree=[1, 3]))
    assert caught.value.errors[0].pointer == "/tp_degree"


def test_more_than_can_be_read_is_not_planned() -> None:
    with pytest.raises(QuotaError, match="4096"):
        report(request(tp_degree=[1] * 16, zero_stage=[0] * 16, data_parallel=[1] * 16))


@pytest.mark.parametrize(
    "wrong", [{"tp_degree": 0}, {"tp_degree": []}, {"device_memory_gb": 0.0}, {"seq": 0}]
)
def test_values_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        request(**wrong)
