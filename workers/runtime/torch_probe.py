"""What a machine offers, by what torch finds on it. Loads torch."""

import subprocess

import torch

from workers.contract.errors import TopologyError
from workers.contract.hardware import Hardware, NodeFacts
from workers.contract.topology import Topology, parse_topology
from workers.runtime.cpu_node import cpu_node
from workers.runtime.host import environment
from workers.runtime.loaded_torch import torch_facts

GIB = 1 << 30


def probe_by_torch(name: str, *, address: str, num_cpu_slots: int) -> NodeFacts:
    """Its GPUs; where torch finds none, `num_cpu_slots` ranks on its cores."""
    if not torch.cuda.is_available():
        return cpu_node(name, torch_facts(), address=address, num_slots=num_cpu_slots)
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
        environment=environment(torch_facts(), backend="nccl", realtime_io=False),
        topology=text if topology else "",
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
