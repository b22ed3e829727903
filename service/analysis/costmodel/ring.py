"""The fallback where no collective was measured: a latency and a ring over the slowest link."""

from dataclasses import dataclass

from service.analysis.costmodel.prediction import Basis, Prediction, within
from workers.contract.axes import Collective
from workers.contract.bandwidth import bus_factor


@dataclass(frozen=True, slots=True)
class Link:
    """What joins the ranks, in one direction."""

    name: str
    gb_per_s: float
    """Published line rate; GB = 1e9 bytes."""
    latency_us: float
    """Of a collective of no size: launch and synchronisation."""


def ring_prediction(
    collective: Collective, *, message_bytes: int, num_ranks: int, link: Link
) -> Prediction:
    """Latency plus the ring's bytes over the link: alpha + bus_factor * S / B."""
    if num_ranks == 1:
        return within(0.0, None, basis=Basis.CATALOGUE, calibration="one rank sends nothing")
    moved = bus_factor(collective, num_ranks=num_ranks) * message_bytes
    time_us = link.latency_us + moved / (link.gb_per_s * 1e3)
    return within(
        time_us,
        None,
        basis=Basis.CATALOGUE,
        calibration=f"ring over {link.name}, {link.gb_per_s:g} GB/s and {link.latency_us:g} us",
    )
