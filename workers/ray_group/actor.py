"""The Ray actor around one rank. Runs on the device's node; the owner only holds its handle."""

import faulthandler
import os
import pkgutil
import signal
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, cast

import psutil
import pynvml
import ray

from workers.contract.errors import RendezvousError
from workers.contract.group import PingReply, RankFacts, RankSetup, Rendezvous
from workers.contract.trial import RankResult, TrialOrder
from workers.ray_group.devices import DeviceChoice, choose_core, choose_gpu
from workers.runtime.scheduling import usable_cores

CONCURRENCY_GROUPS = {"work": 1, "health": 1, "vigil": 1}
"""All collective and CUDA work stays on one thread; pings are answered beside it, and one call
never returns: its end is the first sign that the process has died."""

DUMP_SIGNAL = signal.SIGUSR2
"""Makes a rank write all its stacks, even while something holds the GIL."""


class RankLike(Protocol):
    """What `workers.rank.Rank` is to its actor; see there."""

    def describe(self) -> RankFacts:
        """Say what the rank found."""

    def open_store(self, host: str) -> int:
        """Open the rendezvous store; return its port."""

    def join(self, rendezvous: Rendezvous) -> None:
        """Form the group."""

    def measure(self, order: TrialOrder) -> RankResult:
        """Run one trial."""

    def leave(self) -> None:
        """Take the group apart."""

    def ping(self, ttl_s: float) -> PingReply:
        """Give a sign of life."""


class RankClass(Protocol):
    """How a rank is made."""

    def __call__(self, setup: RankSetup) -> RankLike:
        """Take over the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What an actor got from Ray, before it has a rank."""

    pid: int
    gpu_id: str
    """As Ray names it; empty on a CPU."""
    visible_devices: str | None
    usable_cores: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What an actor becomes."""

    rank: int
    size: int
    device_kind: Literal["cuda", "cpu"]
    address: str
    log_path: str


class RankActor:
    """One process, one device, one rank."""

    def __init__(self, rank_class: str) -> None:
        """Load torch and all that the rank needs: the slow part of starting."""
        self._make_rank = cast("RankClass", pkgutil.resolve_name(rank_class))
        self._rank: RankLike | None = None

    @ray.method(concurrency_group="work")
    def reserve(self) -> Reservation:
        """Which device Ray set aside for this process."""
        return _reservation()

    @ray.method(concurrency_group="work")
    def set_up(self, assignment: Assignment) -> RankFacts:
        """Become a rank: find the network interface and the device, then start the rank proper."""
        interface = interface_of(assignment.address)
        if interface:
            os.environ["GLOO_SOCKET_IFNAME"] = os.environ["NCCL_SOCKET_IFNAME"] = interface
        choice = _choose_device(assignment, _reservation())
        if choice.mask is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = choice.mask
        rank = self._make_rank(
            RankSetup(
                rank=assignment.rank,
                size=assignment.size,
                device_kind=assignment.device_kind,
                device_index=choice.index,
                expected_uuid=_full_gpu_uuid(choice),
                log_path=assignment.log_path,
            )
        )
        _dump_stacks_on_request(Path(assignment.log_path).with_suffix(".dump"))
        self._rank = rank
        return rank.describe()

    @ray.method(concurrency_group="work")
    def open_store(self, host: str) -> int:
        """See Rank.open_store."""
        return self._ready_rank.open_store(host)

    @ray.method(concurrency_group="work")
    def join(self, rendezvous: Rendezvous) -> None:
        """See Rank.join."""
        self._ready_rank.join(rendezvous)

    @ray.method(concurrency_group="work")
    def measure(self, order: TrialOrder) -> RankResult:
        """See Rank.measure."""
        return self._ready_rank.measure(order)

    @ray.method(concurrency_group="work")
    def leave(self) -> None:
        """See Rank.leave."""
        self._ready_rank.leave()

    @ray.method(concurrency_group="health")
    def ping(self, ttl_s: float) -> PingReply:
        """See Rank.ping."""
        return self._ready_rank.ping(ttl_s)

    @ray.method(concurrency_group="vigil")
    def keep_vigil(self) -> None:
        """Never return."""
        threading.Event().wait()

    @property
    def _ready_rank(self) -> RankLike:
        if self._rank is None:
            raise RendezvousError("the rank was called before it was set up")
        return self._rank


def interface_of(address: str) -> str | None:
    """Name of the network interface that owns the address; gloo and NCCL are bound to it."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(
            found.family in {socket.AF_INET, socket.AF_INET6} and found.address == address
            for found in addresses
        ):
            return name
    return None


def _reservation() -> Reservation:
    gpu_ids = [str(name) for name in ray.get_gpu_ids()]
    return Reservation(
        pid=os.getpid(),
        gpu_id=gpu_ids[0] if gpu_ids else "",
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        usable_cores=usable_cores(),
    )


def _choose_device(assignment: Assignment, reservation: Reservation) -> DeviceChoice:
    if assignment.device_kind == "cuda":
        return choose_gpu(reservation.gpu_id, visible=reservation.visible_devices)
    return choose_core(assignment.rank, usable_cores=reservation.usable_cores)


def _full_gpu_uuid(choice: DeviceChoice) -> str:
    """UUID of the reserved GPU by NVML, which creates no CUDA context; empty where unknown."""
    if choice.mask is not None:
        return ""
    if choice.uuid or choice.physical_index is None:
        return choice.uuid
    try:
        pynvml.nvmlInit()
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(choice.physical_index)
            return str(pynvml.nvmlDeviceGetUUID(handle))
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return ""


def _dump_stacks_on_request(path: Path) -> None:
    """The handler is C code that runs without the GIL; the file stays open for it."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    faulthandler.register(DUMP_SIGNAL, file=file, all_threads=True, chain=False)
