"""Leases and nodes with only what a test is about spelled out."""

from datetime import timedelta

from service.store.leases import Lease
from tests.unit.analysis.trials import ENVIRONMENT
from tests.unit.workers.builders import point
from workers.contract.axes import CollectiveImpl, GroupKind
from workers.contract.hardware import Hardware, NodeFacts
from workers.contract.sweep import Sampling

CPU = Hardware(accelerator="Test CPU", memory_class_gib=0, num_devices=4, fabric="host_memory")
GPU = Hardware(accelerator="Test GPU", memory_class_gib=80, num_devices=4, fabric="nvswitch")


def lease(
    *,
    sweep_id: str = "s1",
    replicate: int = 0,
    kind: GroupKind = GroupKind.FRESH,
    degrees: tuple[int, ...] = (1, 2),
    tp_degree: int = 2,
    trial_id: str = "t1",
    attempt: int = 1,
    impls: tuple[CollectiveImpl, ...] = (CollectiveImpl.BACKEND,),
) -> Lease:
    """One point, or with two implementations the pair of them."""
    first, *others = [point(tp_degree=tp_degree, collective_impl=impl) for impl in impls]
    return Lease(
        trial_id=trial_id,
        attempt=attempt,
        sweep_id=sweep_id,
        point_id="p1",
        replicate=replicate,
        owner="me",
        spec=first,
        sampling=Sampling(),
        group_kind=kind,
        seed=1,
        num_devices=max(degrees),
        degrees=degrees,
        pair_point_id="p2" if others else None,
        pair_spec=others[0] if others else None,
        ttl=timedelta(seconds=30),
    )


def node(hardware: Hardware = CPU, *, name: str = "n1", topology: str = "") -> NodeFacts:
    return NodeFacts(
        name=name,
        address="127.0.0.1",
        hardware=hardware,
        num_slots=4,
        slot_memory_bytes=1 << 30,
        environment=ENVIRONMENT,
        topology=topology,
    )
