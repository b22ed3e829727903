import os
import subprocess

import torch

from workers.contract.errors import TopologyError
from workers.contract.hardware import Hardware, NodeFacts
from workers.contract.topology import Topology, parse_topology
from workers.runtime.host import cpu_model, environment, memory_bytes

GIB = 1 << 30


def probe_node(name: str, *, address: str, num_cpu_slots: int) -> NodeFacts:
    """What this machine offers: its GPUs, or `num_cpu_slots` ranks on its cores."""
    if torch.cuda.is_available():
        return _gpu_node(name, address)
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
        num_slots=num_cpu_slots,
        slot_memory_bytes=memory_bytes() // num_cpu_slots,
        environment=environment(backend="gloo", realtime_io=False),
        topology=f"{num_cores} cores",
    )


def _gpu_node(name: str, address: str) -> NodeFacts:
    properties = torch.cuda.get_device_properties(0)
    count = torch.cuda.device_count()
    text = topology_text()
    topology = _read(text)
    return NodeFacts(
        name=name,
        address=address,
        hardware=Hardware(
            accelerator=properties.name,
            memory_class_gib=round(properties.total_memory / GIB),
            num_devices=count,
            fabric=topology.fabric if topology else "unknown",
        ),
        num_slots=count,
        slot_memory_bytes=properties.total_memory,
        environment=environment(backend="nccl", realtime_io=False),
        topology=text,
    )


def _read(text: str) -> Topology | None:
    try:
        return parse_topology(text)
    except TopologyError:
        return None


def topology_text() -> str:
    """What `nvidia-smi topo -m` says, or nothing where it cannot be asked."""
    try:
        answer = subprocess.run(
            ["nvidia-smi", "topo", "-m"],  # noqa: S607 - found on the operator's PATH, as always
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout
