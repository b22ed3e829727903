import pkgutil
from collections.abc import Callable
from typing import cast

from workers.contract.hardware import NodeFacts
from workers.runtime.cpu_node import cpu_node
from workers.runtime.host import torch_for_cpus

BY_TORCH = "workers.runtime.torch_probe:probe_by_torch"
"""Named, not imported: it loads torch."""


def probe_node(name: str, *, address: str, num_cpu_slots: int) -> NodeFacts:
    """What this machine offers: its GPUs, or `num_cpu_slots` ranks on its cores.

    Only a build of torch that knows GPUs is loaded to ask for them.
    """
    torch = torch_for_cpus()
    if torch is not None:
        return cpu_node(name, torch, address=address, num_slots=num_cpu_slots)
    probe = cast("Callable[..., NodeFacts]", pkgutil.resolve_name(BY_TORCH))
    return probe(name, address=address, num_cpu_slots=num_cpu_slots)
