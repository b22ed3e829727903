from collections.abc import Sequence
from itertools import combinations
from typing import Self

from pydantic import model_validator

from workers.contract.errors import TopologyError
from workers.contract.frozen import Frozen
from workers.contract.links import SELF, UNKNOWN, badness, is_nvlink
from workers.contract.topology_text import read_matrix


class Topology(Frozen):
    """How the GPUs of a node are connected, as `nvidia-smi topo -m` prints it."""

    links: tuple[tuple[str, ...], ...]
    """Link between GPUs i and j; X on the diagonal, ? where the text does not say."""

    remarks: tuple[str, ...] = ()
    """What a reader should know: what was cut, missing or contradictory in the text."""

    @model_validator(mode="after")
    def _is_a_symmetric_square(self) -> Self:
        if not self.links or self.links != tuple(zip(*self.links, strict=True)):
            raise ValueError("links must be a symmetric square")
        if any(row[index] != SELF for index, row in enumerate(self.links)):
            raise ValueError("a GPU's link to itself is X")
        return self

    @classmethod
    def single(cls) -> Self:
        """One GPU, nothing to connect."""
        return cls(links=((SELF,),))

    @property
    def fabric(self) -> str:
        """none, nvswitch, nvlink, nvlink_mesh, nvlink_pairs, pcie or unknown.

        nvswitch: three or more GPUs, every pair alike. nvlink: every pair, not alike, or just two
        GPUs. nvlink_mesh: some pairs, a GPU has several partners; nvlink_pairs: one at most.
        """
        num_gpus = len(self.links)
        pairs = [self.links[a][b] for a, b in combinations(range(num_gpus), 2)]
        nvlinks = [link for link in pairs if is_nvlink(link)]
        if not pairs:
            return "none"
        if not nvlinks:
            return "unknown" if set(pairs) == {UNKNOWN} else "pcie"
        if len(nvlinks) == len(pairs):
            return "nvswitch" if num_gpus > 2 and len(set(nvlinks)) == 1 else "nvlink"  # noqa: PLR2004 - a pair needs no switch
        most_partners = max(sum(map(is_nvlink, row)) for row in self.links)
        return "nvlink_pairs" if most_partners == 1 else "nvlink_mesh"

    def worst_link(self, indices: tuple[int, ...]) -> str:
        """The slowest link among the named GPUs; X for one GPU alone."""
        missing = [index for index in indices if not 0 <= index < len(self.links)]
        if missing or not indices or len(set(indices)) != len(indices):
            raise TopologyError(
                f"expected different GPUs out of 0..{len(self.links) - 1}, found {indices}"
            )
        pairs = combinations(indices, 2)
        return max((self.links[a][b] for a, b in pairs), key=badness, default=SELF)


def best_set(topology: Topology, size: int) -> tuple[int, ...]:
    """The `size` GPUs whose worst link is best; among equals, the lowest indices."""
    num_gpus = len(topology.links)
    if not 1 <= size <= num_gpus:
        raise TopologyError(f"expected a group of 1..{num_gpus} GPUs, found {size}")
    for worst in sorted({badness(link) for row in topology.links for link in row}):
        peers = [
            {b for b in range(a + 1, num_gpus) if badness(row[b]) <= worst}
            for a, row in enumerate(topology.links)
        ]
        found = _first_clique(peers, set(range(num_gpus)), size)
        if found is not None:
            return found
    raise AssertionError("with every link allowed any GPUs form a group")


def best_sets(topology: Topology, size: int) -> tuple[tuple[int, ...], ...]:
    """Groups of `size` GPUs, none in two of them, each as good as the best one.

    Taken one after the other, so that a cleverer choice may find more of them.
    """
    first = best_set(topology, size)
    worst = badness(topology.worst_link(first))
    sets = [first]
    left = [index for index in range(len(topology.links)) if index not in first]
    while len(left) >= size:
        links = tuple(tuple(topology.links[a][b] for b in left) for a in left)
        found = tuple(left[index] for index in best_set(Topology(links=links), size))
        if badness(topology.worst_link(found)) > worst:
            break
        sets.append(found)
        left = [index for index in left if index not in found]
    return tuple(sets)


def _first_clique(
    peers: Sequence[set[int]], candidates: set[int], size: int
) -> tuple[int, ...] | None:
    if size == 0:
        return ()
    for first in sorted(candidates):
        others = candidates & peers[first]
        if len(others) >= size - 1:
            rest = _first_clique(peers, others, size - 1)
            if rest is not None:
                return (first, *rest)
    return None


def parse_topology(text: str) -> Topology:
    """Read the matrix in whatever form the driver printed it; TopologyError where there is none.

    Cells that were cut off are taken from the other GPU's row, or stay unknown; contradicting
    rows count as the slower of both. `remarks` says where either happened.
    """
    matrix = read_matrix(text)
    num_gpus = matrix.num_gpus()
    remarks: list[str] = ["the text is cut"] if matrix.is_cut else []
    if matrix.num_others:
        remarks.append(f"only the first of {matrix.num_others + 1} matrices in the text was read")
    links = [[SELF] * num_gpus for _ in range(num_gpus)]
    unknown: list[str] = []
    for a, b in combinations(range(num_gpus), 2):
        pair = f"GPU{a}-GPU{b}"
        told = {matrix.cells.get((a, b), UNKNOWN), matrix.cells.get((b, a), UNKNOWN)}
        link = max(told - {UNKNOWN}, key=badness, default=UNKNOWN)
        links[a][b] = links[b][a] = link
        if link == UNKNOWN:
            unknown.append(pair)
        elif len(told - {UNKNOWN}) > 1:
            remarks.append(f"{pair} is {' and '.join(sorted(told))} in its two rows: took {link}")
    if unknown:
        remarks.append(f"unknown pairs: {len(unknown)}, the first is {unknown[0]}")
    return Topology(links=tuple(map(tuple, links)), remarks=tuple(remarks))
