import os

from workers.contract.hardware import Hardware, NodeFacts
from workers.runtime.host import (
    TorchFacts,
    cpu_model,
    environment,
    memory_bytes,
    torch_for_cpus,
)


def probe_node(name: str, *, address: str, num_cpu_slots: int) -> NodeFacts:
    """What this machine offers: its GPUs, or `num_cpu_slots` ranks on its cores.

    Only a build of torch that knows GPUs is loaded to ask for them.
    """
    torch = torch_for_cpus()
    if torch is None:
        from workers.runtime.gpu_probe import probe_gpus  # noqa: PLC0415 - loads torch
        from workers.runtime.loaded_torch import torch_facts  # noqa: PLC0415 - so does this

        if node := probe_gpus(name, address=address):
            return node
        torch = torch_facts()
    return _cpu_node(name, torch, address=address, num_slots=num_cpu_slots)


def _cpu_node(name: str, torch: TorchFacts, *, address: str, num_slots: int) -> NodeFacts:
    num_cores = os.cpu_count() or 1
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
