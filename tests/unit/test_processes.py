"""Looking at processes while they end."""

import subprocess
import sys

import psutil

from tests.processes import command_lines


def test_a_process_that_has_ended_is_left_out_and_those_after_it_are_not() -> None:
    unreaped = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    seen = [psutil.Process(unreaped.pid), psutil.Process(gone.pid), psutil.Process()]
    gone.wait()
    assert unreaped.stdout is not None
    unreaped.stdout.read()
    while seen[0].status() != psutil.STATUS_ZOMBIE:
        pass
    try:
        assert list(command_lines(seen)) == [seen[2].pid]
    finally:
        unreaped.communicate()
