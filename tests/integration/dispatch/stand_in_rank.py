"""A rank without torch, and faults that any rank class can be made to commit.

Imported by name in Ray's worker processes, so nothing here may need pytest.
"""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.narrowing import block_of
from workers.contract.axes import Pass
from workers.contract.errors import DeviceMemoryError
from workers.contract.group import PingReply, RankFacts, RankSetup, Rendezvous
from workers.contract.hardware import DeviceFacts, Environment, Hardware, NodeFacts
from workers.contract.trial import PassSamples, Proof, RankResult, TrialOrder

PLAN_VARIABLE = "TPSWEEP_TEST_FAULTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What one rank does at the point of one batch, so many times."""

    batch: int
    rank: int
    name: str
    times: int = 1
    after_s: float = 0


class FaultPlan:
    """Faults in a folder shared by all processes of a test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, *faults: Fault) -> None:
        """Replace the plan; nothing of it has happened yet."""
        for old in self._folder.glob("done-*"):
            old.unlink()
        plan = [
            {
                "batch": fault.batch,
                "rank": fault.rank,
                "name": fault.name,
                "times": fault.times,
                "after_s": fault.after_s,
            }
            for fault in faults
        ]
        (self._folder / "plan.json").write_text(json.dumps(plan))

    def take(self, *, batch: int, rank: int) -> Fault | None:
        """The fault this rank is to commit now, counted as committed."""
        path = self._folder / "plan.json"
        plan = [Fault(**entry) for entry in json.loads(path.read_text())] if path.exists() else []
        for fault in plan:
            if (fault.batch, fault.rank) == (batch, rank):
                done = self._folder / f"done-{batch}-{rank}"
                count = len(done.read_text()) if done.exists() else 0
                if count < fault.times:
                    done.write_text("x" * (count + 1))
                    return fault
        return None


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(600)  # another thread may have taken the signal: this one must not go on meanwhile


def _hold_the_gil() -> None:
    ctypes.PyDLL(None).sleep(600)


def _exhaust_device() -> None:
    raise DeviceMemoryError("the device has no room for 1 TiB")


def _raise_value_error() -> None:
    raise ValueError("a bug of ours")


def _say_and_abort() -> None:
    sys.stderr.write("last words of the rank\n")
    sys.stderr.flush()
    os.abort()


FAULTS: dict[str, Callable[[], None]] = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": _stop,
    "abort": _say_and_abort,
    "exit": lambda: os._exit(7),
    "hold_gil": _hold_the_gil,
    "sleep": lambda: time.sleep(600),
    "out_of_memory": _exhaust_device,
    "value_error": _raise_value_error,
}


class Measures(Protocol):
    """The part of a rank that faults strike."""

    def measure(self, order: TrialOrder) -> RankResult: ...


def commit(fault: Fault) -> None:
    """Do it now, or in a while beside the measuring."""
    if fault.after_s:
        threading.Timer(fault.after_s, FAULTS[fault.name]).start()
    else:
        FAULTS[fault.name]()


def planned_fault(order: TrialOrder, *, rank: int) -> Fault | None:
    """What the plan named in the environment has for this rank at this point."""
    folder = os.environ.get(PLAN_VARIABLE)
    return (
        FaultPlan(Path(folder)).take(batch=block_of(order.point).batch, rank=rank)
        if folder
        else None
    )


class StandInRank:
    """The interface of workers.rank.Rank; measures nothing, in no time."""

    def __init__(self, setup: RankSetup) -> None:
        self.setup = setup
        self.generations: list[Rendezvous] = []
        log_path = Path(setup.log_path)
        log_path.parent.mkdir(parents=True, exist_ok=True)
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)

    def describe(self) -> RankFacts:
        return RankFacts(
            rank=self.setup.rank, pid=os.getpid(), device=self._device, environment=environment()
        )

    def open_store(self, host: str) -> int:
        assert host
        return 1

    def join(self, rendezvous: Rendezvous) -> None:
        self.generations.append(rendezvous)

    def leave(self) -> None:
        assert self.generations

    def ping(self, ttl_s: float) -> PingReply:
        assert ttl_s > 0
        return PingReply(rank=self.setup.rank, pid=os.getpid(), trial_id=None)

    def measure(self, order: TrialOrder) -> RankResult:
        if fault := planned_fault(order, rank=self.setup.rank):
            commit(fault)
        samples = PassSamples(step_ns=(1_000_000,) * 10, forward_ns=(400_000,) * 10)
        return RankResult(
            rank=self.setup.rank,
            device=self._device,
            environment=environment(),
            passes=dict.fromkeys(Pass, samples),
            spans=(),
            shared_clock=True,
            proof=Proof(
                max_abs_error=0,
                max_rel_error=0,
                tolerance=1e-6,
                dtype="float64",
                num_collectives=0,
                collective_bytes=0,
            ),
            num_warmup_steps=1,
            stop_rule="stand_in",
            peak_memory_bytes=1,
            quality=(),
            wall_ns=20_000_000,
            timed_ns=10_000_000,
        )

    @property
    def _device(self) -> DeviceFacts:
        return DeviceFacts(
            kind=self.setup.device_kind,
            index=self.setup.device_index,
            uuid=self.setup.expected_uuid,
            name="stand-in",
            memory_bytes=1 << 30,
        )


def probe_gpu_node(name: str, *, address: str, num_cpu_slots: int) -> NodeFacts:
    """A node that says it has four GPUs."""
    assert num_cpu_slots
    return NodeFacts(
        name=name,
        address=address,
        hardware=Hardware(
            accelerator="Stand-in GPU", memory_class_gib=80, num_devices=4, fabric="nvswitch"
        ),
        num_slots=4,
        slot_memory_bytes=80 << 30,
        environment=environment(),
        topology="",
    )


def environment() -> Environment:
    """What the stand-in runs on, with the variables that placement sets."""
    names = (
        "CUDA_VISIBLE_DEVICES",
        "CUDA_DEVICE_ORDER",
        "OMP_NUM_THREADS",
        "GLOO_SOCKET_IFNAME",
        "NCCL_SOCKET_IFNAME",
        "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES",
    )
    return Environment(
        hostname="here",
        os="Linux",
        python="3.11",
        torch="none",
        backend="none",
        cpu_model="stand-in",
        num_cores=os.cpu_count() or 1,
        num_threads=1,
        realtime_io=False,
        flush_denormal=True,
        variables={name: os.environ[name] for name in names if name in os.environ},
        load_average=0,
    )
