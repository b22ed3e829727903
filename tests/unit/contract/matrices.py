from itertools import combinations

from hypothesis import strategies as st

from workers.contract.topology import Topology

LINKS = ("NV18", "NV4", "NV2", "NV1", "PIX", "PXB", "PHB", "NODE", "SYS")


def topology(*rows: str) -> Topology:
    return Topology(links=tuple(tuple(row.split()) for row in rows))


@st.composite
def topologies(
    draw: st.DrawFn, max_gpus: int = 7, links: tuple[str, ...] = (*LINKS, "?")
) -> Topology:
    num_gpus = draw(st.integers(1, max_gpus))
    table = [["X"] * num_gpus for _ in range(num_gpus)]
    for a, b in combinations(range(num_gpus), 2):
        table[a][b] = table[b][a] = draw(st.sampled_from(links))
    return Topology(links=tuple(map(tuple, table)))
