"""Which group a trial may run in, and what a node offers."""

from collections.abc import Callable

import pytest

from service.dispatch.placement import (
    GroupHistory,
    GroupPlan,
    HostHealth,
    Step,
    cpus_per_rank,
    device_kind,
    link_class,
    next_step,
)
from tests.unit.dispatch.builders import CPU, GPU, lease, node
from workers.contract.axes import CollectiveImpl, GroupKind

PLAN = GroupPlan(num_ranks=2, degrees=(1, 2))
NEW = GroupHistory(plan=PLAN)
AT_WORK = GroupHistory(plan=PLAN, replicate=("s1", 0), is_used=True)
REFORMED = GroupHistory(plan=PLAN, is_used=True)


@pytest.mark.parametrize(
    ("group", "kind", "replicate", "step"),
    [
        (NEW, GroupKind.FRESH, 0, Step.SUBMIT),
        (NEW, GroupKind.REGROUPED, 0, Step.SUBMIT),
        (AT_WORK, GroupKind.FRESH, 0, Step.SUBMIT),
        (AT_WORK, GroupKind.FRESH, 1, Step.REPLACE),
        (AT_WORK, GroupKind.REGROUPED, 1, Step.REGROUP),
        (REFORMED, GroupKind.FRESH, 0, Step.REPLACE),
        (REFORMED, GroupKind.REGROUPED, 0, Step.SUBMIT),
    ],
)
def test_replicates_never_share_a_formation_and_fresh_ones_never_processes(
    group: GroupHistory, kind: GroupKind, replicate: int, step: Step
) -> None:
    assert next_step(group, lease(kind=kind, replicate=replicate)) is step


def test_a_group_of_another_size_is_replaced() -> None:
    assert next_step(REFORMED, lease(kind=GroupKind.REGROUPED, degrees=(1, 4))) is Step.REPLACE


def test_a_degree_without_a_sub_group_makes_the_group_form_anew() -> None:
    group = GroupHistory(plan=GroupPlan(num_ranks=4, degrees=(4,)))
    assert next_step(group, lease(degrees=(2, 4))) is Step.REGROUP


@pytest.mark.parametrize("impl", [CollectiveImpl.ONE_SHOT, CollectiveImpl.TWO_SHOT])
def test_over_symmetric_memory_no_rank_of_the_group_is_left_out(impl: CollectiveImpl) -> None:
    """Or the next rendezvous of all of them would never end."""
    backend = CollectiveImpl.BACKEND

    def size(tp_degree: int, *impls: CollectiveImpl) -> int:
        asked = lease(degrees=(1, 2, 4), tp_degree=tp_degree, impls=impls)
        return GroupPlan.for_lease(asked).num_ranks

    assert [size(degree, impl) for degree in (1, 2, 4)] == [4, 2, 4]
    assert size(2, backend, impl) == size(2, impl, backend) == 2
    assert size(2, backend) == 4, "the backend's sub-groups do no harm"


def test_a_group_with_ranks_beside_is_replaced_for_symmetric_memory() -> None:
    group = GroupHistory(plan=GroupPlan(num_ranks=4, degrees=(2, 4)), replicate=("s1", 0))
    for degree, step in ((2, Step.REPLACE), (4, Step.SUBMIT)):
        asked = lease(degrees=(2, 4), tp_degree=degree, impls=(CollectiveImpl.ONE_SHOT,))
        assert next_step(group, asked) is step


@pytest.mark.parametrize("degrees", [(1, 2), (1, 2, 4)])
def test_on_several_hosts_the_ranks_of_a_degree_sit_the_same_in_every_sweep(
    degrees: tuple[int, ...],
) -> None:
    plan = GroupPlan.for_lease(lease(degrees=degrees, tp_degree=2), num_hosts=2)
    assert plan == GroupPlan(num_ranks=2, degrees=(1, 2), num_hosts=2)


def test_a_rank_alone_needs_no_other_group_on_several_hosts_either() -> None:
    plan = GroupPlan.for_lease(lease(degrees=(1, 2), tp_degree=2), num_hosts=2)
    group = GroupHistory(plan=plan, replicate=("s1", 0), is_used=True)
    assert next_step(group, lease(degrees=(1, 2), tp_degree=1)) is Step.SUBMIT


@pytest.mark.parametrize(
    ("num_cpus", "num_ranks", "share"), [(2, 4, 0.5), (8, 2, 1.0), (2, 3, 0.666)]
)
def test_ranks_share_the_cpus_so_that_a_group_always_fits(
    num_cpus: float, num_ranks: int, share: float
) -> None:
    assert cpus_per_rank(num_cpus=num_cpus, num_ranks=num_ranks) == share


MATRIX = """\
\tGPU0\tGPU1\tGPU2\tCPU Affinity
GPU0\t X \tNV18\tSYS\t0-7
GPU1\tNV18\t X \tPIX\t0-7
GPU2\tSYS\tPIX\t X \t0-7
"""


@pytest.mark.parametrize(
    ("indices", "link"), [([0, 1], "nv18"), ([0, 1, 2], "sys"), ([1, 2], "pix"), ([0], "none")]
)
def test_the_link_class_is_the_worst_link_of_the_devices_that_ran(
    indices: list[int], link: str
) -> None:
    assert link_class(node(GPU, topology=MATRIX), indices) == link


@pytest.mark.parametrize(
    ("matrix", "indices"), [(MATRIX, [0, 3]), (MATRIX, [1, 1]), ("no matrix", [0, 1])]
)
def test_devices_that_the_matrix_does_not_hold_are_linked_by_the_nodes_fabric(
    matrix: str, indices: list[int]
) -> None:
    """Two parts of one GPU have one number; what ran there must not be lost for its name."""
    assert link_class(node(GPU, topology=matrix), indices) == GPU.fabric


def test_ranks_on_a_cpu_talk_through_its_memory() -> None:
    assert link_class(node(CPU), [0, 1]) == "host_memory"
    assert [device_kind(node(hardware)) for hardware in (CPU, GPU)] == ["cpu", "cuda"]


def fail(times: int) -> Callable[[float], HostHealth]:
    def failed(now: float) -> HostHealth:
        health = HostHealth()
        for _ in range(times):
            health = health.after_failure(now=now)
        return health

    return failed


def test_a_node_that_fails_twice_in_a_row_is_left_alone_for_longer_each_time() -> None:
    waits = [fail(times)(100.0).quarantined_until for times in (1, 2, 3, 20)]
    assert waits == [0.0, 110.0, 120.0, 700.0]
    assert not fail(2)(100.0).may_work(now=109.9)
    assert fail(2)(100.0).may_work(now=110)


def test_one_success_clears_a_node() -> None:
    assert fail(5)(100.0).after_success().may_work(now=100.0)
