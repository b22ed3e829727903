from workers.contract.hardware import Hardware, NodeFacts
from workers.runtime.host import TorchFacts, cpu_model, environment
from workers.runtime.host_memory import memory_bytes
from workers.runtime.scheduling import usable_cores


def cpu_node(name: str, torch: TorchFacts, *, address: str, num_slots: int) -> NodeFacts:
    """A machine as one of ranks on cores; `num_slots` of them share its memory."""
    num_cores = len(usable_cores())
    return NodeFacts(
        name=name,
        address=address,
        hardware=Hardware(
            accelerator=cpu_model(),
            memory_class_gib=0,
            num_devices=num_cores,
            fabric="host_memory",
        ),
        num_slots=num_slots,
        slot_memory_bytes=memory_bytes() // num_slots,
        environment=environment(torch, backend="gloo", realtime_io=False),
        topology=f"{num_cores} cores",
    )
