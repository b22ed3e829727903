import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pynvml
import torch
import torch.distributed as dist
import torch.fx.experimental.symbolic_shapes  # else the first backward loads it

from workers.contract.axes import CollectiveImpl
from workers.contract.errors import DeviceMemoryError, RendezvousError
from workers.contract.group import PingReply, RankFacts, RankSetup, Rendezvous
from workers.contract.hardware import DeviceFacts
from workers.contract.point import PointSpec
from workers.contract.probe import Measurable
from workers.contract.trial import Proof, RankResult, TrialOrder
from workers.measure import check_orders_agree, measure
from workers.prepare import Place, Seat, Subject, prepare
from workers.runtime.communicator import Communicator
from workers.runtime.deadline import SelfDestruct
from workers.runtime.device import free_bytes, select
from workers.runtime.host import clock_identity, environment
from workers.runtime.loaded_torch import torch_facts
from workers.runtime.nvml import GpuMonitor
from workers.runtime.scheduling import usable_cores
from workers.runtime.watch import HostWatch
from workers.timing.control import control_steps
from workers.timing.peers import Peers
from workers.tp.collectives.members import Members, OpenCollectives
from workers.tp.collectives.registry import open_collectives
from workers.tp.group import NoCollectives, TensorParallelGroup
from workers.tp.probe_proof import prove_probe
from workers.tp.proof import prove

PROOF_SEED = 20_190_917  # the day Megatron-LM was posted; any number would do


class Rank:
    """One process's part of a worker group.

    All methods run on one thread, except `ping`, which may come from another at any time.
    """

    def __init__(self, setup: RankSetup) -> None:
        """Take over the process: its output, its core or GPU, its end."""
        log_path = Path(setup.log_path)
        log_path.parent.mkdir(parents=True, exist_ok=True)
        _redirect_output(log_path)
        self._setup = setup
        self._self_destruct = SelfDestruct(log_path.with_suffix(".stacks"))
        self._num_cores = len(usable_cores())  # before one of them is all that is left
        self._device, self._device_facts = select(setup)
        self._watch = _watch(self._device, self._device_facts)
        self._store: dist.Store | None = None
        self._communicator: Communicator | None = None
        self._timeout_s = 0.0
        self._seats: dict[tuple[int, CollectiveImpl], Seat] = {}
        self._opened: list[OpenCollectives] = []
        self._proofs: dict[Measurable, Proof] = {}
        self._measuring: str | None = None
        gc.freeze()  # what torch's import left would make every trial's collection take 0.1 s

    def describe(self) -> RankFacts:
        """What this rank found."""
        return RankFacts(
            rank=self._setup.rank,
            pid=os.getpid(),
            device=self._device_facts,
            environment=environment(
                torch_facts(),
                backend=self._backend,
                realtime_io=self._has_realtime_io,
                num_cores=self._num_cores,
            ),
        )

    def open_store(self, host: str) -> int:
        """Open the rendezvous store on a free port of `host` and keep it; rank 0 only."""
        store = dist.TCPStore(host, 0, is_master=True, wait_for_workers=False)
        self._store = store
        return int(store.port)

    def join(self, rendezvous: Rendezvous) -> None:
        """Form the group with the other ranks, and a sub-group for each degree.

        Seats at the backend's own collectives are taken at once: a trial need not wait for them.
        """
        self._timeout_s = rendezvous.timeout_s
        if self._setup.size > 1:
            self._communicator = Communicator.form(
                rendezvous,
                rank=self._setup.rank,
                size=self._setup.size,
                device=self._device,
                store=self._store,
            )
        for degree in rendezvous.degrees:
            if self._setup.rank < degree:
                self._seat(degree, CollectiveImpl.BACKEND)

    def measure(self, order: TrialOrder) -> RankResult:
        """Prove the points, if that was not done before, and time them with ranks 0..tp_degree-1.

        DeviceMemoryError where the device has no room, ProofError where the numbers are wrong.
        """
        with self._occupied(order):
            places = []
            for number, point in enumerate(order.points):
                seat = self._seat(point.tp_degree, point.collective_impl)
                proof = self._proof(point, order, seat)
                places.append(Place(number=number, spec=point, seat=seat, proof=proof))
            return measure(order, places, prepare=self.prepare)

    def prepare(self, place: Place, seed: int) -> Subject:
        """Make a point's steps. The place to alter them, where a test wants to see it found."""
        return prepare(place, seed)

    def leave(self) -> None:
        """Destroy the groups. `join` may follow under a new prefix once every rank has left.

        Proofs stand: code and device stay, and `join` shows that the new groups add up.
        """
        self._seats.clear()
        for opened in self._opened:
            opened.close()
        self._opened.clear()
        if self._communicator is not None:
            self._communicator.close()
            self._communicator = None

    def ping(self, ttl_s: float) -> PingReply:
        """Answer, and live on for at least `ttl_s` unless the trial's own deadline comes first."""
        self._self_destruct.renew_lease(ttl_s)
        return PingReply(rank=self._setup.rank, pid=os.getpid(), trial_id=self._measuring)

    @property
    def _backend(self) -> str:
        return "nccl" if self._device.type == "cuda" else "gloo"

    @property
    def _has_realtime_io(self) -> bool:
        return self._communicator is not None and self._communicator.io_threads.are_realtime

    @contextmanager
    def _occupied(self, order: TrialOrder) -> Iterator[None]:
        self._measuring = order.trial_id
        self._self_destruct.begin_trial(order.deadline_s)
        try:
            yield
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise DeviceMemoryError(str(error)) from error
        except RuntimeError as error:
            if "can't allocate memory" in str(error):  # torch's CPU allocator has no class for it
                raise DeviceMemoryError(str(error)) from error
            raise
        finally:
            self._self_destruct.end_trial()
            self._measuring = None

    def _seat(self, degree: int, impl: CollectiveImpl) -> Seat:
        """Return the place among ranks 0..degree-1, which all of them take at the same order."""
        if (degree, impl) not in self._seats:
            if degree > 1 and self._communicator is None:
                msg = f"rank {self._setup.rank} was asked for tp_degree {degree} before it joined"
                raise RendezvousError(msg)
            process_group = self._communicator.group_of(degree) if self._communicator else None
            peers = Peers(process_group, clock_identity=clock_identity())
            group = TensorParallelGroup(self._setup.rank, degree, NoCollectives())
            if process_group is not None:
                group = self._open(group, impl, process_group, share_a_host=peers.share_a_clock)
            self._seats[degree, impl] = Seat(
                rank=self._setup.rank,
                device=self._device,
                device_facts=self._device_facts,
                environment=self.describe().environment,
                group=group,
                peers=peers,
                watch=self._watch,
                control=control_steps(group.collectives if degree > 1 else None, self._device),
            )
        return self._seats[degree, impl]

    def _open(
        self,
        group: TensorParallelGroup,
        impl: CollectiveImpl,
        process_group: dist.ProcessGroup,
        *,
        share_a_host: bool,
    ) -> TensorParallelGroup:
        """Return the group with its collectives, which `leave` will close."""
        members = Members(
            rank=group.rank,
            size=group.size,
            device=self._device,
            process_group=process_group,
            world_size=self._setup.size,
            share_a_host=share_a_host,
            timeout_s=self._timeout_s,
        )
        opened = open_collectives(impl, members)
        self._opened.append(opened)
        return replace(group, collectives=opened, wires=opened.wires)

    def _proof(self, point: Measurable, order: TrialOrder, seat: Seat) -> Proof:
        """Return the proof of this shape, degree and phase; it does not depend on batch and seq."""
        shape = point
        if isinstance(point, PointSpec):
            shape = point.model_copy(update={"batch": 1, "seq": 1})
        if shape not in self._proofs:
            check_orders_agree(order, seat.peers)
            self._proofs[shape] = self._prove(point, seat)
        return self._proofs[shape]

    def _prove(self, point: Measurable, seat: Seat) -> Proof:
        if not isinstance(point, PointSpec):
            return prove_probe(point, group=seat.group, device=self._device, seed=PROOF_SEED)
        return prove(
            point,
            group=seat.group,
            device=self._device,
            seed=PROOF_SEED,
            reference_dtype=torch.float64 if self._device.type == "cpu" else torch.float32,
            memory_bytes=free_bytes(self._device, ranks_here=seat.peers.num_here),
        )


def _watch(device: torch.device, facts: DeviceFacts) -> HostWatch:
    if device.type != "cuda":
        return HostWatch(device)
    return HostWatch(device, read_device=GpuMonitor(pynvml, facts.uuid).read)


def _redirect_output(path: Path) -> None:
    """Send file descriptors 1 and 2 to the rank's log, so that C libraries' words land there."""
    sys.stdout.flush()
    sys.stderr.flush()
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
