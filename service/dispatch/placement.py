"""What is to be done with a node and the group on it. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from service.store.leases import Lease, Offer
from workers.contract.axes import GroupKind
from workers.contract.errors import TopologyError
from workers.contract.hardware import NodeFacts
from workers.contract.implementations import degrees_of_group
from workers.contract.topology import parse_topology

FIRST_QUARANTINE_S, LONGEST_QUARANTINE_S = 10.0, 600.0
FAILURES_BEFORE_QUARANTINE = 2


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The group a lease needs."""

    num_ranks: int
    degrees: tuple[int, ...]
    num_hosts: int = 1
    """Machines that the ranks are dealt out to."""

    @classmethod
    def for_lease(cls, lease: Lease, *, num_hosts: int = 1) -> "GroupPlan":
        """The sweep's largest degree, with a sub-group for each of its degrees.

        On several hosts the point's own degree is the largest: where its ranks sit must not depend
        on what else the sweep asks for. Only a rank alone sits on the first host in any group.
        """
        own = lease.spec.tp_degree
        points = [spec for spec in (lease.spec, lease.pair_spec) if spec is not None]
        degrees = degrees_of_group(points, {*lease.degrees, own})
        if num_hosts > 1 and own > 1:
            degrees = tuple(degree for degree in degrees if degree <= own)
        return cls(num_ranks=degrees[-1], degrees=degrees, num_hosts=num_hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHistory:
    """What the group on a node is, and what it has been used for."""

    plan: GroupPlan
    replicate: tuple[str, int] | None = None
    """Sweep and replicate that it works on since it was formed; None right after that."""
    is_used: bool = False
    """Whether its processes have ever measured anything."""


class Step(StrEnum):
    """How to get from the group that is there to the one that a lease needs."""

    SUBMIT = "submit"
    REGROUP = "regroup"
    REPLACE = "replace"


def next_step(group: GroupHistory, lease: Lease) -> Step:
    """Replicates never share a formation; fresh ones never share processes either."""
    plan = GroupPlan.for_lease(lease, num_hosts=group.plan.num_hosts)
    if group.plan.num_ranks != plan.num_ranks:
        return Step.REPLACE
    is_at_it = group.replicate == (lease.sweep_id, lease.replicate)
    if not is_at_it and group.is_used and lease.group_kind is GroupKind.FRESH:
        return Step.REPLACE
    has_degrees = set(plan.degrees) <= set(group.plan.degrees)
    return Step.SUBMIT if has_degrees and (is_at_it or group.replicate is None) else Step.REGROUP


def offer_of(facts: NodeFacts) -> Offer:
    """What a node can run while nothing else runs on it."""
    return Offer(
        hardware_key=facts.hardware.hardware_key,
        accelerator=facts.hardware.accelerator,
        num_slots=facts.num_slots,
    )


def device_kind(facts: NodeFacts) -> Literal["cuda", "cpu"]:
    """cuda, or cpu where the hardware has no memory of its own."""
    return "cuda" if facts.hardware.memory_class_gib else "cpu"


def cpus_per_rank(*, num_cpus: float, num_ranks: int) -> float:
    """A rank's share of the CPUs that Ray counts on its node, at most a whole one.

    Rounded down to what Ray can count, so that the group always fits.
    """
    return min(1.0, int(num_cpus / num_ranks * 1000) / 1000)


def link_class(facts: NodeFacts, device_indices: Sequence[int]) -> str:
    """The worst link among the devices that ran; on CPUs of one host its memory, always.

    The node's fabric where the matrix does not hold them, as with several parts of one GPU: what
    was measured is not lost for want of a better name.
    """
    is_cpu = device_kind(facts) == "cpu"
    has_ends = len(device_indices) > 1
    if not has_ends and (facts.num_hosts > 1 or not is_cpu):
        return "none"
    if is_cpu or not facts.topology:
        return facts.hardware.fabric
    try:
        link = parse_topology(facts.topology).worst_link(tuple(device_indices))
    except TopologyError:
        return facts.hardware.fabric
    return re.sub(r"[^a-z0-9]+", "_", link.lower()).strip("_") or facts.hardware.fabric


@dataclass(frozen=True, slots=True)
class HostHealth:
    """Failures of a node's groups in a row, and until when it is left alone."""

    num_failures: int = 0
    quarantined_until: float = 0.0

    def after_failure(self, *, now: float) -> "HostHealth":
        """The second in a row takes the node out for a while, each further one twice as long."""
        count = self.num_failures + 1
        if count < FAILURES_BEFORE_QUARANTINE:
            return HostHealth(count, self.quarantined_until)
        doublings = min(count - FAILURES_BEFORE_QUARANTINE, 10)
        wait_s = min(LONGEST_QUARANTINE_S, FIRST_QUARANTINE_S * 2.0**doublings)
        return HostHealth(count, now + wait_s)

    def after_success(self) -> "HostHealth":
        """Forgotten."""
        return HostHealth()

    def may_work(self, *, now: float) -> bool:
        """Whether the node is not left alone."""
        return now >= self.quarantined_until
