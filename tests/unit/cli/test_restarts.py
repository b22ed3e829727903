import os

import pytest

from service.cli.supervise.child import Child, ChildSpec, restart_delay_s
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


def test_a_child_may_let_others_go_first() -> None:
    spec = ChildSpec("kind", ("-c", "import time; time.sleep(60)"), niceness=3)
    child = Child(spec, report=_unheard, started_at=0)
    try:
        ours = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, child.pid) == ours + 3
    finally:
        child.kill_group()
        child.finish()


def _unheard(source: str, line: str) -> None:
    del source, line
