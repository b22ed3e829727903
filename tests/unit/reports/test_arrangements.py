"""Arithmetic and measurement of each arrangement, side by side."""

import pytest

from service.reports.arrangements import ArrangementsReport, reports
from service.store.results import MeasuredTrial
from tests.unit.analysis.trials import point
from tests.unit.reports.measured import measured_trial
from workers.contract.activations import kept_activations
from workers.contract.arrangement_costs import cost_of
from workers.contract.axes import Arrangement, Phase

A = Arrangement


def trials(times: dict[Arrangement, float], **axes: object) -> list[MeasuredTrial]:
    """Three trials of each arrangement that took about so long."""
    spec = point(tp_degree=2, batch=4).model_copy(update=axes)
    return [
        measured_trial(
            spec.model_copy(update={"arrangement": name}), replicate=r, step_us=step + r / 10
        )
        for name, step in times.items()
        for r in range(3)
    ]


def only(given: list[MeasuredTrial]) -> ArrangementsReport:
    (found,) = reports(given)
    return found


def test_the_cheapest_by_arithmetic_comes_first_with_what_the_others_take_more_of() -> None:
    found = only(trials({A.REPLICATED: 150, A.COLUMN_COLUMN: 120, A.COLUMN_ROW: 100}))
    names = [one.cost.arrangement for one in found.arrangements]
    assert names == [A.COLUMN_ROW, A.COLUMN_COLUMN, A.REPLICATED]
    best, gathered, replicated = found.arrangements
    assert "the bytes over the slowest link" in gathered.why
    assert "2.00x the work" in replicated.why
    assert "column_row is the cheapest by arithmetic: least work" in found.sentences[0]
    assert len(found.sentences) == 1, "the measurement agrees"
    assert best.step_time_us.median == pytest.approx(100.1)
    assert best.cost == cost_of(found.spec)
    assert best.kept_bytes == 4 * kept_activations(found.spec)
    assert best.peak_memory_bytes is None, "a CPU's figure is of the whole process"


def test_a_measurement_that_contradicts_the_arithmetic_is_said_where_intervals_are_apart() -> None:
    found = only(trials({A.COLUMN_ROW: 100, A.ROW_ROW: 60, A.COLUMN_COLUMN: 100.05}))
    (said,) = (one for one in found.sentences if "otherwise" in one)
    assert "row_row took 60.1 us, below column_row's 100.1 us" in said


@pytest.mark.parametrize(("phase", "times"), [(Phase.TRAIN, "1.25x"), (Phase.PREFILL, "1x")])
def test_it_says_what_sequence_parallelism_moves(phase: Phase, times: str) -> None:
    measured = {A.COLUMN_ROW: 100.0, A.SEQUENCE_PARALLEL: 110.0, A.SEQUENCE_PARALLEL_KEPT: 105.0}
    sentences = only(trials(measured, phase=phase)).sentences
    assert f"sequence_parallel moves {times} the bytes of column_row's all_reduces" in sentences
    assert "sequence_parallel_kept moves 1x the bytes of column_row's all_reduces" in sentences


def test_what_differs_in_more_than_the_arrangement_is_not_put_side_by_side() -> None:
    column = trials({A.COLUMN_ROW: 100})
    assert reports([*column, *trials({A.ROW_ROW: 90}, batch=8)]) == ()
    assert reports(trials({A.COLUMN_ROW: 100, A.REPLICATED: 100}, tp_degree=1)) == ()
