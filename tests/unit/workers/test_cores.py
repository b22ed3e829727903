"""How many cores a machine has for ranks: those they may run on, whatever else it has."""

import os
from collections.abc import Callable

import pytest

from service.analysis.calibration_plan import complete
from workers.contract.calibration import CalibrationSpec
from workers.ray_group import scout
from workers.runtime.cpu_node import cpu_node
from workers.runtime.host import TorchFacts, environment

TORCH = TorchFacts(version="2", cuda=None, nccl=None, num_threads=1, flush_denormal=True)

Allow = Callable[[int], None]


@pytest.fixture
def allow(monkeypatch: pytest.MonkeyPatch) -> Allow:
    """A host of 64 cores, of which so many are this process's."""

    def allow(num_cores: int) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(7, 7 + num_cores)))

    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    return allow


def test_a_machine_is_known_by_the_cores_that_its_ranks_may_run_on(allow: Allow) -> None:
    allow(2)
    node = cpu_node("n", TORCH, address="127.0.0.1", num_slots=4)
    assert node.hardware.num_devices == node.environment.num_cores == 2
    assert node.topology == "2 cores"


def test_a_pinned_process_tells_what_it_could_run_on_before(allow: Allow) -> None:
    allow(1)
    told = environment(TORCH, backend="gloo", realtime_io=False, num_cores=6)
    assert told.num_cores == 6


@pytest.mark.parametrize(("num_cores", "num_slots"), [(2, 4), (6, 6)])
def test_as_many_ranks_are_offered_as_may_have_a_core_and_a_few_at_least(
    num_cores: int, num_slots: int, allow: Allow
) -> None:
    allow(num_cores)
    probe = "workers.runtime.probe:probe_node"
    assert scout._look("n", "127.0.0.1", None, probe).num_slots == num_slots
    assert scout._look("n", "127.0.0.1", 3, probe).num_slots == 3


def test_a_calibration_gives_every_rank_a_core_of_its_own(allow: Allow) -> None:
    allow(2)
    node = cpu_node("n", TORCH, address="127.0.0.1", num_slots=64)
    completed, _ = complete(CalibrationSpec(), nodes=[node], max_points=1000)
    assert completed.tp_degree == (1, 2)
