"""Nodes as dispatchers would report them."""

from workers.contract.hardware import Environment, Hardware, NodeFacts

GIB = 1 << 30


def node(
    *,
    name: str = "a",
    accelerator: str = "Some CPU",
    num_slots: int = 4,
    slot_memory_bytes: int = 8 * GIB,
) -> NodeFacts:
    return NodeFacts(
        name=name,
        address="127.0.0.1",
        hardware=Hardware(
            accelerator=accelerator,
            memory_class_gib=0,
            num_devices=num_slots,
            fabric="host_memory",
        ),
        num_slots=num_slots,
        slot_memory_bytes=slot_memory_bytes,
        environment=Environment(
            hostname=name,
            os="Linux",
            python="3.11",
            torch="2.13",
            backend="gloo",
            cpu_model="Some CPU",
            num_cores=num_slots,
            num_threads=1,
            realtime_io=False,
            flush_denormal=True,
            variables={},
            load_average=0.1,
        ),
        topology="one socket",
    )
