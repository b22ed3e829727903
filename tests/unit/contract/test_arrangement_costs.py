"""Claims 4 and 28: the alternation is the cheapest, and sharding does not cut all activations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.contract.points import point, shape
from workers.contract.arrangement_costs import ArrangementCost, compare_arrangements, cost_of
from workers.contract.axes import Arrangement, Block, Collective, Phase
from workers.contract.point import PointSpec

A = Arrangement


def arranged(arrangement: Arrangement, spec: PointSpec | None = None) -> PointSpec:
    spec = spec or point(tp_degree=4, batch=8)
    return spec.model_copy(update={"arrangement": arrangement})


OPS = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER)


def costs(spec: PointSpec) -> dict[Arrangement, ArrangementCost]:
    return {cost.arrangement: cost for cost in compare_arrangements(spec).costs}


@given(
    tp_degree=st.sampled_from([2, 4, 8]),
    inner=st.sampled_from([64, 256, 1024]),
    gated=st.booleans(),
    phase=st.sampled_from(Phase),
)
def test_column_row_does_least_work_and_sends_least_with_the_fewest_calls(
    tp_degree: int, inner: int, phase: Phase, *, gated: bool
) -> None:
    """Sending as little, in more calls, is possible; sending less is not, from F = H on."""
    spec = point(shape(ffn=inner, gated=gated), tp_degree=tp_degree, batch=8, phase=phase)
    table = compare_arrangements(spec)
    assert table.cheapest.arrangement is A.COLUMN_ROW
    assert {cost.arrangement for cost in table.costs} == set(A) - {A.LAYER_SPLIT}
    best = table.cheapest
    for other in table.costs[1:]:
        if other.flops == best.flops:
            assert other.bus_bytes >= best.bus_bytes
            assert sum(other.num_collectives.values()) > sum(best.num_collectives.values())
        else:
            assert other.arrangement is A.REPLICATED


@pytest.mark.parametrize(
    ("phase", "inner", "cheapest"),
    [
        (Phase.TRAIN, 32, A.COLUMN_ROW),
        (Phase.TRAIN, 24, A.ROW_COLUMN),
        (Phase.PREFILL, 64, A.COLUMN_ROW),
        (Phase.PREFILL, 56, A.COLUMN_COLUMN),
    ],
)
def test_a_block_narrower_inside_than_at_its_ends_would_send_less_from_within(
    phase: Phase, inner: int, cheapest: Arrangement
) -> None:
    """What the articles leave out: claim 4 needs F >= H/2 in training and F >= H forward only."""
    table = compare_arrangements(point(shape(ffn=inner), tp_degree=4, batch=8, phase=phase))
    assert table.cheapest.arrangement is cheapest


def test_sequence_parallel_moves_the_bytes_of_the_all_reduces_and_a_quarter_more_unless_kept() -> (
    None
):
    found = costs(point(tp_degree=4, batch=8))
    all_reduces = found[A.COLUMN_ROW].bus_bytes
    assert found[A.SEQUENCE_PARALLEL].bus_bytes == 1.25 * all_reduces
    assert found[A.SEQUENCE_PARALLEL_KEPT].bus_bytes == all_reduces
    forward = costs(point(tp_degree=4, batch=8, phase=Phase.PREFILL))
    assert forward[A.SEQUENCE_PARALLEL].bus_bytes == forward[A.COLUMN_ROW].bus_bytes


def test_collectives_and_bytes_of_a_plain_mlp_as_worked_out_by_hand() -> None:
    """H 64, F 256, T 8, P 4, float32: one wide message is 8192 bytes, one narrow 2048."""
    found = costs(point(tp_degree=4, batch=8))
    ops = {name: [cost.num_collectives.get(op, 0) for op in OPS] for name, cost in found.items()}
    assert ops == {
        A.COLUMN_ROW: [2, 0, 0],
        A.COLUMN_COLUMN: [1, 2, 1],
        A.ROW_COLUMN: [2, 2, 0],
        A.ROW_ROW: [1, 2, 1],
        A.REPLICATED: [0, 0, 0],
        A.SEQUENCE_PARALLEL: [0, 3, 2],
        A.SEQUENCE_PARALLEL_KEPT: [0, 2, 2],
    }
    assert {name: cost.message_bytes for name, cost in found.items()} == {
        A.COLUMN_ROW: 2 * 2048,
        A.COLUMN_COLUMN: 2 * 8192 + 2 * 2048,
        A.ROW_COLUMN: 2 * 8192 + 2 * 2048,
        A.ROW_ROW: 2 * 8192 + 2 * 2048,
        A.REPLICATED: 0,
        A.SEQUENCE_PARALLEL: 5 * 2048,
        A.SEQUENCE_PARALLEL_KEPT: 4 * 2048,
    }


def test_only_sequence_parallel_holds_a_share_of_everything() -> None:
    """Claim 28: input and output stay whole on every rank; inside the block all is divided."""
    spec = point(tp_degree=4, batch=8)
    whole = cost_of(point(tp_degree=1, batch=8)).kept_activations
    assert whole == 8 * (2 * 64 + 2 * 256)
    found = costs(spec)
    assert found[A.COLUMN_ROW].kept_activations == 8 * (2 * 64 + 2 * 64)
    assert found[A.SEQUENCE_PARALLEL].kept_activations == whole / 4
    assert found[A.SEQUENCE_PARALLEL_KEPT].kept_activations == whole / 4 + 8 * 64
    assert found[A.REPLICATED].kept_activations == whole
    assert found[A.ROW_COLUMN].kept_activations == whole + 8 * 16
    assert found[A.COLUMN_COLUMN].kept_activations == 8 * (2 * 64 + 64 + 256)


def test_the_table_says_why() -> None:
    table = compare_arrangements(point(tp_degree=4, batch=8))
    why = {cost.arrangement: table.why(cost) for cost in table.costs}
    assert why[A.COLUMN_ROW] == (
        "least work; of those with no more, fewest bytes over the slowest link, then fewest "
        "collectives"
    )
    assert why[A.REPLICATED].startswith("4.00x the work, no bytes")
    assert why[A.SEQUENCE_PARALLEL] == (
        "1.25x the bytes over the slowest link, 2.50x the collectives, 0.62x the activations kept"
    )


@pytest.mark.parametrize("block", [Block.ATTENTION, Block.LAYER])
def test_rows_first_is_refused_where_heads_would_be_partial_sums(block: Block) -> None:
    table = compare_arrangements(point(block=block, tp_degree=4, batch=8))
    assert [one.spec.arrangement for one in table.rejected] == [A.ROW_COLUMN, A.ROW_ROW]
    for rejection in table.rejected:
        assert rejection.field == "arrangement"
        assert "block=mlp" in rejection.reason
        assert "column_row, column_column, replicated, sequence_parallel" in rejection.reason
        assert rejection.valid_tp_degrees == ()
