from pydantic import JsonValue

from workers.contract.canonical import sha256_of
from workers.contract.frozen import Frozen


class DeviceFacts(Frozen):
    """The device one rank ran on."""

    kind: str
    """cuda or cpu."""
    index: int
    """Number on its host, as nvidia-smi counts; the core it is pinned to on a CPU."""
    uuid: str = ""
    name: str
    memory_bytes: int


class Environment(Frozen):
    """Versions and settings that vary along a series; none of them enters a key."""

    hostname: str
    os: str
    machine: str = ""
    """Processor architecture, as uname says it; empty where not recorded."""
    python: str
    torch: str
    cuda: str | None = None
    nccl: str | None = None
    driver: str | None = None
    ray: str | None = None
    backend: str
    cpu_model: str
    num_cores: int
    """That its ranks may run on: fewer than the host's in a container with a cpuset."""
    num_threads: int
    """Compute threads of each rank."""
    realtime_io: bool
    """Whether gloo's IO threads run above the compute threads (SCHED_RR)."""
    flush_denormal: bool
    niceness: int = 0
    """Of the rank's process; above 0 anything else on the host takes its core."""
    variables: dict[str, str]
    """Allow-listed environment variables that change what is measured."""
    load_average: float
    """Of one minute, when the trial began."""


class Hardware(Frozen):
    """What a sweep is bound to: machines of one hardware_key are interchangeable."""

    accelerator: str
    """GPU model, or the CPU's where there is none."""
    memory_class_gib: int
    """Device memory rounded to whole GiB; 0 for a CPU."""
    num_devices: int
    """Devices of one node; cores that ranks may run on where there is no GPU."""
    fabric: str
    """nvswitch, nvlink, pcie, host_memory."""
    partition: str = ""
    """MIG profile or power-cap class, where not the default."""

    @property
    def identity(self) -> dict[str, JsonValue]:
        """All that `hardware_key` is a hash of; a field at its default is left out."""
        identity: dict[str, JsonValue] = self.model_dump(mode="json", exclude_defaults=True)
        return identity

    @property
    def hardware_key(self) -> str:
        """128 bits over `identity`."""
        return "h1:" + sha256_of(self.identity)[:32]


class NodeFacts(Frozen):
    """One machine of the cluster as its dispatcher sees it."""

    name: str
    address: str
    hardware: Hardware
    num_slots: int
    """Ranks the node can hold: its GPUs, or the configured number of CPU slots."""
    slot_memory_bytes: int
    """Memory of one device; a CPU slot's share of the host's memory."""
    environment: Environment
    topology: str
    """`nvidia-smi topo -m`, or a line about cores. Empty where no matrix tells the links."""
    num_hosts: int = 1
    """Machines that stand behind it: several where its dispatcher takes them as one. Not stored."""
