"""Two hosts on one machine: network namespaces joined by a veth whose rate can be set."""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.environment import without_settings
from tests.shaped_link import sweeper

ROOT = Path(__file__).parents[2]
ADDRESSES = ("10.77.0.1", "10.77.0.2")
RAY_PORT = 6379
GSO_BYTES = 2048
"""Else a packet of 64 KB would have to fit the bucket, and small messages would pass unshaped."""
LEAST_BURST_BYTES, BURST_S = 4096, 125e-6
LATENCY = "100ms"


@dataclass(frozen=True)
class Hosts:
    """Two namespaces and what runs in them."""

    namespaces: tuple[str, str]
    environment: dict[str, str]
    folder: Path

    def start_ray(self) -> None:
        """A head in the first, a node in the second."""
        first, second = ADDRESSES
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats"]
        sizes = ["--num-cpus=1", "--num-gpus=0", "--object-store-memory=80000000"]
        head = ["--head", f"--port={RAY_PORT}", f"--temp-dir={self.folder}"]
        quiet = "--include-dashboard=false"
        self.run(0, *ray, *head, quiet, *sizes, f"--node-ip-address={first}")
        joining = [f"--address={first}:{RAY_PORT}", f"--node-ip-address={second}"]
        self.run(1, *ray, *joining, *sizes)

    def shape(self, mbit_per_s: int | None) -> None:
        """Set the rate of both ends; None takes the limit off."""
        for number, namespace in enumerate(self.namespaces):
            device = f"tp{number}"
            if mbit_per_s is None:
                subprocess.run(
                    ["tc", "-n", namespace, "qdisc", "del", "dev", device, "root"],
                    check=False,
                    capture_output=True,
                )
                continue
            burst = max(LEAST_BURST_BYTES, round(mbit_per_s / 8 * 1e6 * BURST_S))
            rate = f"rate {mbit_per_s}mbit burst {burst} latency {LATENCY}"
            words = f"tc -n {namespace} qdisc replace dev {device} root tbf {rate}"
            _must(words.split())

    def run(self, host: int, *command: str) -> str:
        """Run to its end on one host; its output. CalledProcessError where it fails."""
        done = subprocess.run(
            self.on(host, *command),
            env=self.environment,
            cwd=ROOT,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def on(self, host: int, *command: str) -> list[str]:
        """The command line that runs a command on one host."""
        return ["ip", "netns", "exec", self.namespaces[host], *command]


def obstacle() -> str | None:
    """Why there can be no hosts here; None where there can."""
    if os.geteuid():
        return "network namespaces need root"
    name = f"{sweeper.PREFIX}{os.getpid()}-0-x"
    try:
        made = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["tc", "-V"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return "there is no ip or no tc: install iproute2"
    if made.returncode:
        return f"network namespaces are not permitted here: {made.stderr.decode().strip()}"
    return None


@contextmanager
def two_hosts(home: Path) -> Iterator[Hosts]:
    """Make them; at the end, however it comes, a sweeper of their own removes all of it."""
    sweeper.remove_stale()
    first, second = (sweeper.name_of(os.getpid(), host) for host in "ab")
    folder = Path(tempfile.mkdtemp(prefix="tpl-", dir="/tmp"))  # Ray's sockets need short paths
    names = [first, second, str(folder)]
    command = [sys.executable, "-m", "tests.shaped_link.sweeper", *names]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=ROOT, start_new_session=True
    ) as cleaner:
        _connect(first, second)
        yield Hosts((first, second), _environment(home), folder)
        if cleaner.stdin is not None:
            cleaner.stdin.close()


def _connect(first: str, second: str) -> None:
    veth = f"ip link add tp0 netns {first} type veth peer name tp1 netns {second}"
    for words in (f"ip netns add {first}", f"ip netns add {second}", veth):
        _must(words.split())
    for number, namespace in enumerate((first, second)):
        at = f"ip -n {namespace}"
        for words in (
            f"{at} addr add {ADDRESSES[number]}/24 dev tp{number}",
            f"{at} link set lo up",
            f"{at} link set tp{number} gso_max_size {GSO_BYTES} up",
        ):
            _must(words.split())


def _environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in without_settings().items() if not k.startswith("RAY_")}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "TPSWEEP_HOME": str(home),
        "TPSWEEP_RAY_ADDRESS": f"{ADDRESSES[0]}:{RAY_PORT}",
        "TPSWEEP_NODES_PER_GROUP": "2",
        "TPSWEEP_CPU_DEVICES": "1",
        "CUDA_VISIBLE_DEVICES": "",  # hosts of one machine would share its GPUs
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "RAY_prestart_worker_first_driver": "0",
    }


def _must(command: list[str]) -> None:
    subprocess.run(command, check=True)
