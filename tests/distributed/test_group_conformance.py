"""One instrument: a group on Ray and a group of spawned processes answer alike."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest
from ray.actor import ActorHandle

from service.dispatch.inventory import RayNode
from tests.integration.dispatch.faulty_rank import FaultyRank
from tests.integration.dispatch.ray_session import (  # noqa: F401 - fixtures
    REAL,
    GroupBench,
    agent,
    alive,
    events_of,
    ray_node,
    wait_for,
)
from tests.integration.dispatch.stand_in_rank import PLAN_VARIABLE, Fault, FaultPlan
from tests.unit.workers.builders import order
from tests.waiting import wait_until
from workers.contract.axes import GroupKind, Pass
from workers.contract.errors import WorkerError
from workers.contract.group_events import (
    GroupEnded,
    GroupFailed,
    GroupReady,
    TrialFailed,
    TrialMeasured,
)
from workers.contract.hardware import NodeFacts
from workers.contract.trial import TrialOrder, TrialResult
from workers.gather import gather
from workers.local import LocalGroup
from workers.ray_group.agent import NodeAgent
from workers.ray_group.group import RayGroup

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

FAULTY_BATCH = 7


@dataclass(frozen=True)
class Trouble:
    """A trial that came to nothing."""

    rank: int | None
    is_final: bool
    message: str


class Group(Protocol):
    """What both kinds have in common."""

    @property
    def pids(self) -> tuple[int, ...]: ...

    def measure(self, order: TrialOrder) -> TrialResult | Trouble: ...

    def close(self) -> None: ...


class OnThisHost:
    """A group of spawned processes."""

    def __init__(self, group: LocalGroup) -> None:
        self._group = group
        self.pids = tuple(process.pid or 0 for process in group._processes)

    def measure(self, order: TrialOrder) -> TrialResult | Trouble:
        try:
            return self._group.measure(order)
        except WorkerError as error:
            return Trouble(getattr(error, "rank", None), error.is_final, str(error))

    def close(self) -> None:
        self._group.close()


class OnRay:
    """A group of Ray actors, polled until it answers."""

    def __init__(self, group: RayGroup, node: NodeFacts) -> None:
        self._group = group
        self._node = node
        wait_for(group, GroupReady)
        self.pids = group.pids

    def measure(self, order: TrialOrder) -> TrialResult | Trouble:
        self._group.submit(order)
        event = next(events_of(self._group, within_s=60))
        if isinstance(event, TrialFailed | GroupFailed):
            return Trouble(event.loss.rank, event.loss.is_final, event.loss.message)
        assert isinstance(event, TrialMeasured)
        return gather(
            order,
            event.results,
            group_kind=GroupKind.FRESH,
            group_id=self._group.group_id,
            hardware_key=self._node.hardware.hardware_key,
            link_class=self._node.hardware.fabric,
            node=self._node.name,
        )

    def close(self) -> None:
        self._group.end()
        if not self._group.has_ended:
            wait_for(self._group, GroupEnded)


Make = Callable[[int], Group]


class Workshop:
    """Makes groups of one kind, whose ranks follow the plan in the folder; ends all of them."""

    def __init__(self, request: pytest.FixtureRequest, node: NodeFacts, folder: Path) -> None:
        self._request, self._node, self._folder = request, node, folder
        self._made: list[Group] = []

    def make(self, size: int) -> Group:
        kind = self._on_this_host if self._request.param == "local" else self._on_ray
        self._made.append(kind(size))
        return self._made[-1]

    def close(self) -> None:
        for group in self._made:
            group.close()
            wait_until(partial(_are_gone, group.pids), within_s=5)

    def _on_this_host(self, size: int) -> Group:
        degrees = tuple(range(1, size + 1))
        group = LocalGroup(
            size=size,
            degrees=degrees,
            node=self._node,
            log_dir=self._folder,
            rank_class=FaultyRank,
        )
        return OnThisHost(group)

    def _on_ray(self, size: int) -> Group:
        cluster: RayNode = self._request.getfixturevalue("ray_node")
        helper: ActorHandle[NodeAgent] = self._request.getfixturevalue("agent")
        bench = GroupBench(cluster, helper, self._folder)
        variables = {PLAN_VARIABLE: str(self._folder)}
        group = bench.start(num_ranks=size, rank_class=REAL, variables=variables)
        return OnRay(group, self._node)


def _are_gone(pids: tuple[int, ...]) -> bool:
    return not alive(pids)


KINDS = ["local", "ray"]


@pytest.fixture(scope="module", params=KINDS)
def healthy(
    request: pytest.FixtureRequest, node: NodeFacts, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Group]:
    """Three ranks to which nothing happens, for several tests."""
    with closing(Workshop(request, node, tmp_path_factory.mktemp("healthy"))) as workshop:
        yield workshop.make(3)


@pytest.fixture(params=KINDS)
def make(
    request: pytest.FixtureRequest,
    node: NodeFacts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Make]:
    """Makes groups of a test's own, whose ranks follow the plan in its folder."""
    monkeypatch.setenv(PLAN_VARIABLE, str(tmp_path))
    with closing(Workshop(request, node, tmp_path)) as workshop:
        yield workshop.make


def measured(group: Group, wanted: TrialOrder) -> TrialResult:
    result = group.measure(wanted)
    assert isinstance(result, TrialResult), result
    return result


def test_a_trial_has_samples_of_every_pass_and_rank_and_its_collectives(healthy: Group) -> None:
    result = measured(healthy, order(block="mlp", phase="train", tp_degree=2))
    assert set(result.samples) == set(Pass) - {Pass.STANDALONE}
    assert {len(ranks) for ranks in result.samples.values()} == {2}
    assert [timing.where for timing in result.collectives] == ["mlp.forward", "mlp.backward"]
    assert result.proof.max_rel_error <= result.proof.tolerance
    assert [device.kind for device in result.devices] == ["cpu", "cpu"]
    assert result.environment.num_threads == 1


def test_smaller_degrees_run_in_the_same_group_in_any_order(healthy: Group) -> None:
    for degree in (3, 1, 2, 1, 3):
        wanted = order(tp_degree=degree, model=_DIVIDES_BY_THREE)
        assert len(measured(healthy, wanted).devices) == degree


_DIVIDES_BY_THREE = {"hidden_size": 24, "intermediate_size": 48, "num_attention_heads": 6}


def test_ranks_of_either_kind_share_memory(healthy: Group) -> None:
    for impl in ("shared_memory", "backend"):
        result = measured(healthy, order(collective_impl=impl))
        assert [timing.where for timing in result.collectives] == ["mlp.forward", "mlp.backward"]


def test_a_rank_that_is_killed_is_named_and_its_peers_do_not_linger(
    make: Make, tmp_path: Path
) -> None:
    FaultPlan(tmp_path).write(Fault(batch=FAULTY_BATCH, rank=1, name="kill"))
    group = make(2)
    measured(group, order())
    trouble = group.measure(order(batch=FAULTY_BATCH))
    assert isinstance(trouble, Trouble)
    assert (trouble.rank, trouble.is_final) == (1, False)


def test_a_point_without_room_is_refused_for_good(make: Make, tmp_path: Path) -> None:
    FaultPlan(tmp_path).write(
        *(Fault(batch=FAULTY_BATCH, rank=rank, name="cuda_out_of_memory") for rank in (0, 1))
    )
    trouble = make(2).measure(order(batch=FAULTY_BATCH))
    assert isinstance(trouble, Trouble)
    assert trouble.is_final
    assert "1 TiB" in trouble.message


def test_a_rank_that_never_finishes_is_given_up_at_its_deadline(make: Make, tmp_path: Path) -> None:
    FaultPlan(tmp_path).write(Fault(batch=FAULTY_BATCH, rank=1, name="sleep"))
    slow = order(batch=FAULTY_BATCH).model_copy(update={"deadline_s": 2})
    trouble = make(2).measure(slow)
    assert isinstance(trouble, Trouble)
    assert not trouble.is_final
    assert "deadline" in trouble.message
