"""What the owner starts on a node before any group: a look at it, and the agent that stays."""

import pkgutil
from collections.abc import Callable
from typing import cast

import ray
from ray import ObjectRef
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from workers.contract.hardware import NodeFacts
from workers.ray_group.agent import NodeAgent
from workers.runtime.scheduling import usable_cores

FEWEST_CPU_SLOTS = 4
_AGENT_THREADS = 4

Probe = Callable[..., NodeFacts]


def look_at(
    node_id: str, *, name: str, address: str, num_cpu_slots: int | None, probe: str
) -> ObjectRef[NodeFacts]:
    """Probe a node in a process that ends afterwards: it may load torch, as nobody else there does.

    `probe` is named, not imported: the owner itself never loads torch.
    """
    task = ray.remote(max_calls=1)(_look).options(
        num_cpus=0,
        max_retries=1,
        scheduling_strategy=_on(node_id),
        runtime_env={"env_vars": {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}},
    )
    return task.remote(name, address, num_cpu_slots, probe)


def station_agent(node_id: str) -> ActorHandle[NodeAgent]:
    """Start the agent of a node."""
    make = ray.remote(NodeAgent).options(
        num_cpus=0, max_restarts=0, max_concurrency=_AGENT_THREADS, scheduling_strategy=_on(node_id)
    )
    return cast("ActorHandle[NodeAgent]", make.remote())


def _look(name: str, address: str, num_cpu_slots: int | None, probe: str) -> NodeFacts:
    slots = num_cpu_slots or max(len(usable_cores()), FEWEST_CPU_SLOTS)
    probe_node = cast("Probe", pkgutil.resolve_name(probe))
    return probe_node(name, address=address, num_cpu_slots=slots)


def _on(node_id: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node_id, soft=False)
