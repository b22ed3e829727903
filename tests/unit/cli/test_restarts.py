import pytest

from service.cli.supervise.child import restart_delay_s
from service.cli.supervise.supervisor import describe_exit


def test_restarts_wait_longer_each_time_up_to_half_a_minute() -> None:
    delays = [restart_delay_s(num_failures=count) for count in range(1, 9)]
    assert delays == [1, 2, 4, 8, 16, 30, 30, 30]


def test_many_failures_do_not_overflow() -> None:
    assert restart_delay_s(num_failures=100_000) == 30


@pytest.mark.parametrize(
    ("status", "says"),
    [(1, "exited with status 1"), (-9, "was killed by SIGKILL"), (-99, "was killed by signal 99")],
)
def test_the_way_a_child_ended_is_said(status: int, says: str) -> None:
    assert describe_exit(status) == says
