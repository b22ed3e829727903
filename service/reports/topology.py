"""What the links between the GPUs of a machine mean for tensor parallelism on it."""

from itertools import combinations

from pydantic import Field

from service.errors import FieldError, UnreadableFileError
from workers.contract.errors import TopologyError
from workers.contract.frozen import Frozen
from workers.contract.links import is_nvlink
from workers.contract.topology import Topology, best_sets, parse_topology

MOST_GPUS = 32
"""Beyond any machine there is; sets are searched among them."""

VIRTUAL_MACHINE = (
    "every pair is PHB, as virtual machines show it whatever the host has: measure before you "
    "trust it"
)

MEANINGS = {
    "PIX": "at most one PCIe bridge",
    "PXB": "several PCIe bridges",
    "PHB": "a PCIe host bridge",
    "NODE": "PCIe host bridges of one NUMA node",
    "SYS": "the link between CPU sockets",
    "X": "nothing: one GPU alone",
    "?": "unknown: the text does not tell",
}


class DegreeReport(Frozen):
    """The best a tp_degree can get on this machine."""

    tp_degree: int
    worst_link: str = Field(description="Inside each of the sets: what its collectives wait for.")
    passes: str = Field(description="What the worst link goes through.")
    sets: tuple[tuple[int, ...], ...] = Field(
        description="GPUs that have no worse link among them; no GPU is in two sets."
    )
    worst_link_of_any: str = Field(description="If the GPUs are taken without looking.")


class TopologyReport(Frozen):
    """A matrix of `nvidia-smi topo -m`, read."""

    num_gpus: int
    fabric: str = Field(description="none, nvswitch, nvlink, nvlink_mesh, nvlink_pairs or pcie.")
    links: tuple[tuple[str, ...], ...]
    tp_degrees: tuple[DegreeReport, ...]
    warnings: tuple[str, ...]


def explain(text: str) -> TopologyReport:
    """Say which GPUs to take for each tp_degree. Raises UnreadableFileError naming the line."""
    try:
        topology = parse_topology(text)
    except TopologyError as error:
        raise _refusal(str(error)) from None
    num_gpus = len(topology.links)
    if num_gpus > MOST_GPUS:
        raise _refusal(f"the matrix has {num_gpus} GPUs, and a machine at most {MOST_GPUS}")
    return TopologyReport(
        num_gpus=num_gpus,
        fabric=topology.fabric,
        links=topology.links,
        tp_degrees=tuple(_degree(topology, degree) for degree in range(1, num_gpus + 1)),
        warnings=(*topology.remarks, *_doubts(topology)),
    )


def _degree(topology: Topology, degree: int) -> DegreeReport:
    sets = best_sets(topology, degree)
    worst = topology.worst_link(sets[0])
    everyone = topology.worst_link(tuple(range(len(topology.links))))
    return DegreeReport(
        tp_degree=degree,
        worst_link=worst,
        passes=_meaning(worst),
        sets=sets,
        worst_link_of_any=everyone if degree > 1 else worst,
    )


def _meaning(link: str) -> str:
    if is_nvlink(link):
        number = link.removeprefix("NV")
        return f"{number} NVLink{'s' if number != '1' else ''}"
    return MEANINGS[link]


def _doubts(topology: Topology) -> tuple[str, ...]:
    """What a matrix says that may not be so."""
    pairs = {topology.links[a][b] for a, b in combinations(range(len(topology.links)), 2)}
    if pairs == {"PHB"}:
        return (VIRTUAL_MACHINE,)
    return ()


def _refusal(message: str) -> UnreadableFileError:
    return UnreadableFileError(message, errors=(FieldError(pointer="/text", detail=message),))
