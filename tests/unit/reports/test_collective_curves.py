"""Which curves the cost model is given."""

from datetime import UTC, datetime

import pytest

from service.analysis.costmodel.collectives import CollectiveModel
from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.table import Row, Table
from service.reports.collective_curves import from_curves
from service.reports.curve_faults import doubts
from service.store.curves import Curve
from workers.contract.axes import Collective

COLLECTIVES = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER)


PLACEMENTS = ("out_of_place_us", "in_place_us")


def curve(operation: Operation, num_ranks: int, *placements: str) -> Curve:
    """Of both placements where none is named."""
    sizes = [1 << power for power in range(10, 30, 2)]
    rows = tuple(
        Row(size, **dict.fromkeys(PLACEMENTS) | dict.fromkeys(placements or PLACEMENTS, time))
        for size, time in ((size, 10 + size / 3e5) for size in sizes)
    )
    table = Table(operation, "float", num_ranks, 1, "NVIDIA H100", rows)
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return Curve("1", "h100", table, source="a", imported_by="alice", imported_at=began)


@pytest.mark.parametrize("op", COLLECTIVES)
def test_what_one_rank_ran_alone_is_no_curve_and_stretched_to_none(op: Collective) -> None:
    alone, four = (curve(Operation(op), num_ranks) for num_ranks in (1, 4))
    found = from_curves([alone, four], preference=0)
    assert [one.num_ranks for one in found] == [4]
    model = CollectiveModel(found, link=None)
    predicted = model.predict(op, message_bytes=1 << 20, num_ranks=2)
    assert predicted is not None
    assert "of 4 ranks stretched to 2" in predicted.calibration
    assert from_curves([alone], preference=0) == []


@pytest.mark.parametrize("op", COLLECTIVES)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_curve_of_one_placement_alone_is_used(op: Collective, placement: str) -> None:
    (found,) = from_curves([curve(Operation(op), 4, placement)], preference=0)
    assert [found] == from_curves([curve(Operation(op), 4)], preference=0)


@pytest.mark.parametrize("operation", Operation)
def test_a_rank_alone_has_no_slow_link(operation: Operation) -> None:
    assert doubts(curve(operation, 1)) == ()
