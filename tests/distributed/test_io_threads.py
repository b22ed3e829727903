"""What a raised thread must not do to the group: keep the core from the one it waits for."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from workers.local import LocalGroup
from workers.rank import Rank
from workers.runtime.probe import probe_node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

COMPILER = shutil.which("cc")
NUM_SUMS = 100


class SummingRank(Rank):
    def sum_often(self) -> float:
        """One element of the last of many sums."""
        for _ in range(NUM_SUMS):
            numbers = torch.ones(64)
            dist.all_reduce(numbers)
        return float(numbers[-1])


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_a_thread_that_sleeps_while_it_sends_does_not_hang_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, library = Path(__file__).with_name("sleepy_sends.c"), tmp_path / "sleepy_sends.so"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    node = probe_node("here", address="127.0.0.1", num_cpu_slots=2)
    with LocalGroup(
        size=2, degrees=(2,), node=node, log_dir=tmp_path, rank_class=SummingRank
    ) as group:
        assert group._call([0, 1], "sum_often", limit_s=20) == [2, 2]
