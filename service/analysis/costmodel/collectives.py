"""Which measured curve answers for a collective, and what does where none was measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.analysis.costmodel.curve import TimeCurve
from service.analysis.costmodel.prediction import Basis, Prediction
from service.analysis.costmodel.ring import Link, ring_prediction
from workers.contract.axes import Collective
from workers.contract.bandwidth import bus_factor

FEWEST_RANKS = 2
"""One alone sends nothing: its curve tells of no link and cannot be stretched to more."""


@dataclass(frozen=True, slots=True)
class CollectiveCurve:
    """A measured curve and what it was measured for: at least `FEWEST_RANKS`."""

    collective: Collective
    num_ranks: int
    curve: TimeCurve
    preference: int = 0
    """Of several that rest on equally good measurements the lowest answers."""


@dataclass(frozen=True, slots=True)
class CollectiveModel:
    """All curves of one hardware, and the link that a formula falls back on."""

    curves: Sequence[CollectiveCurve]
    link: Link | None

    def predict(
        self, collective: Collective, *, message_bytes: int, num_ranks: int
    ) -> Prediction | None:
        """Time of one collective; None where nothing was measured and no link is known.

        First its own curve. Then one of another number of ranks, and of it the nearest, stretched
        by the ring's bytes and said to be extrapolated: a switch that adds up does not follow the
        ring (8 H100 take 0.8 of what 2 would let one expect). Then the catalogue's link.
        """
        same = [one for one in self.curves if one.collective is collective]
        own = [one for one in same if one.num_ranks == num_ranks]
        if own:
            answers = [(one.preference, one.curve.predict(message_bytes)) for one in own]
            _, best = min(answers, key=lambda one: (one[1].basis.rank, one[0], one[1].time_us))
            return best
        if same and num_ranks > 1:
            return _stretched(same, collective, message_bytes=message_bytes, num_ranks=num_ranks)
        if self.link is None:
            return None
        return ring_prediction(
            collective, message_bytes=message_bytes, num_ranks=num_ranks, link=self.link
        )


def _stretched(
    curves: Sequence[CollectiveCurve],
    collective: Collective,
    *,
    message_bytes: int,
    num_ranks: int,
) -> Prediction:
    nearest = min(
        curves, key=lambda one: max(one.num_ranks, num_ranks) / min(one.num_ranks, num_ranks)
    )
    found = nearest.curve.predict(message_bytes)
    factor = bus_factor(collective, num_ranks=num_ranks)
    factor /= bus_factor(collective, num_ranks=nearest.num_ranks)
    return replace(
        found,
        time_us=found.time_us * factor,
        low_us=None,
        high_us=None,
        basis=Basis.EXTRAPOLATED,
        calibration=f"{found.calibration}, of {nearest.num_ranks} ranks stretched to {num_ranks}",
    )
