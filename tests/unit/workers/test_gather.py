from collections.abc import Sequence

import pytest

from tests.unit.workers.builders import order, point, rank_result
from workers.contract.axes import Collective, GroupKind, Pass
from workers.contract.trial import RankResult, Span, TrialOrder, TrialResult
from workers.gather import gather


def gathered(results: Sequence[RankResult], *, told: TrialOrder | None = None) -> TrialResult:
    return gather(
        told or order(tp_degree=len(results)),
        results,
        group_kind=GroupKind.FRESH,
        group_id="g",
        hardware_key="h1:x",
        link_class="host_memory",
        node="n",
    )


def span(enter: tuple[int, ...], leave: tuple[int, ...]) -> Span:
    return Span(
        op=Collective.ALL_REDUCE,
        where="mlp.forward",
        message_bytes=64,
        enter_ns=enter,
        exit_ns=leave,
    )


def test_a_late_rank_makes_its_peers_wait_and_the_wire_no_longer() -> None:
    """Rank 1 enters 20 us after rank 0; both leave 5 us later (MEASURING, injected delay)."""
    early = rank_result(0, spans=(span((0,), (25_000,)),))
    late = rank_result(1, spans=(span((20_000,), (25_000,)),))
    (timing,) = gathered([early, late]).collectives
    assert timing.wire_ns == (5_000,)
    assert timing.wait_ns == (10_000,), "the mean of 20 us and 0"


def test_without_a_shared_clock_the_shortest_call_is_the_wire() -> None:
    early = rank_result(0, spans=(span((0,), (25_000,)),), shared_clock=False)
    late = rank_result(1, spans=(span((900_000,), (905_000,)),), shared_clock=False)
    (timing,) = gathered([early, late]).collectives
    assert (timing.wire_ns, timing.wait_ns) == ((5_000,), (10_000,))


def test_results_are_ordered_by_rank_whatever_the_order_they_came_in() -> None:
    result = gathered([rank_result(1, step_ns=(7,)), rank_result(0, step_ns=(9,))])
    assert [samples.step_ns for samples in result.samples[Pass.CLEAN]] == [(9,), (7,)]


def test_the_group_needs_the_memory_and_has_the_flags_of_its_worst_rank() -> None:
    result = gathered(
        [
            rank_result(0, peak_memory_bytes=5, quality=("scheduler_noise",)),
            rank_result(1, peak_memory_bytes=9, quality=("oversubscribed", "scheduler_noise")),
        ]
    )
    assert result.peak_memory_bytes == 9
    assert result.quality == ("oversubscribed", "scheduler_noise")


def test_both_points_of_a_pair_are_gathered_over_all_ranks() -> None:
    pair = order(tp_degree=2).model_copy(update={"pair_point": point(dtype="bfloat16")})
    ranks = [
        rank_result(rank, step_ns=(rank,)).model_copy(
            update={"pair": rank_result(rank, step_ns=(10 + rank,))}
        )
        for rank in (1, 0)
    ]
    result = gathered(ranks, told=pair)
    assert result.pair is not None
    assert (result.point.dtype, result.pair.point.dtype) == ("float32", "bfloat16")
    assert [own.step_ns for own in result.samples[Pass.CLEAN]] == [(0,), (1,)]
    assert [own.step_ns for own in result.pair.samples[Pass.CLEAN]] == [(10,), (11,)]


def test_ranks_that_saw_different_collectives_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        gathered([rank_result(0, spans=(span((0,), (1,)),)), rank_result(1, spans=())])


def between(stage: int, enter: int, leave: int, *, way: str = "forward") -> Span:
    return Span(
        op=Collective.SEND_RECV,
        where=f"layer.{stage}.{way}",
        message_bytes=64,
        enter_ns=(enter,),
        exit_ns=(leave,),
    )


def test_ranks_of_a_stack_take_part_in_other_messages_and_are_busy_outside_of_them() -> None:
    """Three layers of 100 ns forward, one after the other; each message takes 10."""
    ranks = [
        rank_result(0, step_ns=(110,), spans=(between(0, 100, 110),)),
        rank_result(1, step_ns=(220,), spans=(between(0, 0, 110), between(1, 210, 220))),
        rank_result(2, step_ns=(320,), spans=(between(1, 0, 220),)),
    ]
    told = order(tp_degree=3, block="layer", phase="prefill", arrangement="layer_split")
    result = gathered(ranks, told=told)
    assert [one.where for one in result.collectives] == ["layer.0.forward", "layer.1.forward"]
    assert [one.wire_ns for one in result.collectives] == [(10,), (10,)]
    assert [one.wait_ns for one in result.collectives] == [(50,), (105,)]
    assert result.busy_ns == ((100,), (100,), (100,))
