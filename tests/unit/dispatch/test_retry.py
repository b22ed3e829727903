"""Who is tried again, how often, and on whose account."""

from datetime import timedelta

import pytest

from service.dispatch.retry import decide
from workers.contract.group_events import Blame, Loss


def loss(blame: Blame, code: str = "rank_died", *, is_final: bool = False) -> Loss:
    return Loss(blame=blame, code=code, message="", is_final=is_final)


def retries(cause: Loss, earlier: list[str], *, max_attempts: int = 3) -> bool:
    return decide(cause, earlier_codes=earlier, max_attempts=max_attempts).retry


def test_what_is_final_is_never_tried_again() -> None:
    assert not retries(loss(Blame.POINT, "out_of_memory", is_final=True), [])


def test_a_point_that_ended_its_ranks_is_tried_once_more() -> None:
    assert retries(loss(Blame.POINT, "rank_aborted"), [])
    assert not retries(loss(Blame.POINT, "rank_aborted"), ["shape_mismatch"])


@pytest.mark.parametrize("blame", [Blame.RANK, Blame.HOST])
def test_ranks_and_hosts_share_the_budget_of_the_settings(blame: Blame) -> None:
    assert retries(loss(blame), ["rank_hung"])
    assert not retries(loss(blame), ["rank_hung", "host_lost"])
    assert retries(loss(blame), ["rank_hung", "host_lost"], max_attempts=4)


def test_lost_hosts_do_not_use_up_what_a_point_may_cost() -> None:
    assert retries(loss(Blame.POINT, "unexpected_error"), ["host_lost", "rank_died"])
    assert retries(loss(Blame.RANK), ["unexpected_error", "no_resources", "no_resources"])


def test_the_cluster_is_waited_for_longer_each_time_and_not_for_ever() -> None:
    cause = loss(Blame.CLUSTER, "no_resources")
    delays = [
        decide(cause, earlier_codes=["no_resources"] * count, max_attempts=3).delay
        for count in range(9)
    ]
    assert delays == sorted(delays)
    assert (delays[0], delays[-1]) == (timedelta(seconds=1), timedelta(minutes=1))
    assert not retries(cause, ["no_resources"] * 9)


def test_a_host_without_memory_is_tried_once_more() -> None:
    cause = loss(Blame.RANK, "host_memory")
    assert retries(cause, ["rank_died"])
    assert not retries(cause, ["host_memory"], max_attempts=9)
