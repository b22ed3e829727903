"""What a group holds of the cluster: a placement group, one actor for each rank, their processes.

Nothing here is detached or named: Ray takes all of it back when the owner dies, whatever killed it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import ray
from ray import ObjectRef
from ray.actor import ActorHandle
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from workers.ray_group.actor import CONCURRENCY_GROUPS, Assignment, RankActor, Reservation
from workers.ray_group.agent import NodeAgent
from workers.ray_group.calls import Calls
from workers.ray_group.devices import rank_order
from workers.ray_group.request import GroupRequest

RankHandle = ActorHandle[RankActor]


class Crew:
    """Processes of one group, in rank order once `assign` was called."""

    def __init__(self, request: GroupRequest, agents: Sequence[ActorHandle[NodeAgent]]) -> None:
        """Ask for the devices; nobody has them yet. `agents` are those of the hosts, in order."""
        self._request = request
        self._agents = tuple(agents)
        self._placement: PlacementGroup = placement_group(
            [_bundle(request)] * request.num_ranks,
            strategy="STRICT_PACK" if len(request.hosts) == 1 else "SPREAD",
            bundle_label_selector=[
                {"ray.io/node-id": request.hosts[seat].node_id} for seat in request.seats
            ],
        )
        self._actors: list[RankHandle] = []
        self.pids: tuple[int, ...] = ()

    def await_devices(self) -> Calls:
        """Answered when the cluster has set the devices aside."""
        timings = self._request.timings
        refs = {0: self._placement.ready()}
        return Calls("reserve", refs, limit_s=timings.reserve_timeout_s)

    def placement_state(self) -> str:
        """Ray's scheduling_state: INFEASIBLE (no node has it), NO_RESOURCES (it is taken)."""
        return str(placement_group_table(self._placement)["stats"]["scheduling_state"])

    def start(self) -> Calls:
        """Start one process on each device and ask which it got."""
        make = ray.remote(concurrency_groups=CONCURRENCY_GROUPS)(RankActor)  # type: ignore[call-overload]
        self._actors = [
            make.options(
                num_cpus=self._request.cpus_per_rank,
                num_gpus=1 if self._request.device_kind == "cuda" else 0,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=PlacementGroupSchedulingStrategy(self._placement, bundle),
                runtime_env={"env_vars": _variables(self._request)},
            ).remote(self._request.rank_class)
            for bundle in range(self._request.num_ranks)
        ]
        limit_s = self._request.timings.start_timeout_s
        return self.call("start", lambda actor: actor.reserve.remote(), limit_s=limit_s)

    def assign(self, reservations: Sequence[Reservation]) -> Calls:
        """Give out ranks by lowest device, tell agents whom to watch, and set the ranks up."""
        seats = self._request.seats
        order = rank_order([found.gpu_id for found in reservations], hosts=seats)
        self._actors = [self._actors[position] for position in order]
        self.pids = tuple(reservations[position].pid for position in order)
        for seat, agent in enumerate(self._agents):
            logs = {self.pids[rank]: self.log_path(rank) for rank in self._ranks_at(seat)}
            agent.watch.remote(logs)
        refs = {
            rank: actor.set_up.remote(
                Assignment(
                    rank=rank,
                    size=len(order),
                    device_kind=self._request.device_kind,
                    address=self._request.hosts[seats[rank]].address,
                    log_path=self.log_path(rank),
                )
            )
            for rank, actor in enumerate(self._actors)
        }
        return Calls("set up", refs, limit_s=self._request.timings.start_timeout_s)

    def call(
        self,
        step: str,
        method: Callable[[RankHandle], ObjectRef[object]],
        *,
        limit_s: float,
        num_ranks: int | None = None,
    ) -> Calls:
        """Call the first `num_ranks` ranks at once (all where not given)."""
        refs = {rank: method(actor) for rank, actor in enumerate(self._actors[:num_ranks])}
        return Calls(step, refs, limit_s=limit_s)

    def open_store(self) -> Calls:
        """Make rank 0 the host of the rendezvous; answered with the port."""
        address, limit_s = self._request.address, self._request.timings.rendezvous_timeout_s
        ref: ObjectRef[object] = self._actors[0].open_store.remote(address)
        return Calls("open the store", {0: ref}, limit_s=limit_s)

    @staticmethod
    def keep_vigil(actor: RankHandle) -> ObjectRef[object]:
        """A call that ends with the process."""
        ref: ObjectRef[object] = actor.keep_vigil.remote()
        return ref

    def ping(self, rank: int, *, ttl_s: float) -> ObjectRef[object]:
        """Ask one rank for a sign of life, and let it live for `ttl_s` more."""
        ref: ObjectRef[object] = self._actors[rank].ping.remote(ttl_s)
        return ref

    def pid_of(self, rank: int) -> int | None:
        """None where the processes have not said yet."""
        return self.pids[rank] if rank < len(self.pids) else None

    def examine(self, *, died: Sequence[int], hung: Sequence[int], limit_s: float) -> Calls:
        """Ask the agents what became of the processes; those that hang write their stacks first."""
        refs: dict[int, ObjectRef[object]] = {}
        for seat, agent in enumerate(self._agents):
            here = self._pids_at(seat)
            refs[seat] = agent.examine.remote(
                here,
                died=[pid for rank in died if (pid := self.pid_of(rank)) in here],
                hung=[pid for rank in hung if (pid := self.pid_of(rank)) in here],
            )
        return Calls("examine", refs, limit_s=limit_s)

    def dismiss(self) -> Calls:
        """End every process and give the devices back. Answered with the pids that would not go."""
        limit_s = self._request.timings.end_timeout_s
        refs: dict[int, ObjectRef[object]] = {
            seat: agent.end.remote(self._pids_at(seat), within_s=limit_s)
            for seat, agent in enumerate(self._agents)
        }
        for actor in self._actors:
            ray.kill(actor)
        remove_placement_group(self._placement)
        return Calls("end", refs, limit_s=limit_s + 1)

    def _ranks_at(self, seat: int) -> list[int]:
        return [rank for rank, host in enumerate(self._request.seats) if host == seat]

    def _pids_at(self, seat: int) -> list[int]:
        """Empty until the processes have said."""
        return [self.pids[rank] for rank in self._ranks_at(seat)] if self.pids else []

    def has_returned_devices(self) -> bool:
        """Whether Ray has taken the placement group apart."""
        return bool(placement_group_table(self._placement).get("state", "REMOVED") == "REMOVED")

    def log_path(self, rank: int) -> str:
        """On the node."""
        return str(Path(self._request.log_dir) / f"rank{rank}.log")


def _bundle(request: GroupRequest) -> dict[str, float]:
    bundle = {"CPU": request.cpus_per_rank}
    return bundle | {"GPU": 1} if request.device_kind == "cuda" else bundle


def _variables(request: GroupRequest) -> dict[str, str]:
    """Environment of the ranks. No GPU mask: it spoils NCCL's timings (ray#61073, nccl#1749)."""
    variables = {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}
    if request.device_kind == "cuda":
        variables |= {
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
        }
    else:
        variables |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return variables | dict(request.variables)
