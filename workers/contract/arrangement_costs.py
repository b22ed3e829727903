"""What each arrangement of one block costs, by arithmetic, and why column-then-row is the cheapest.

What no clock is needed for; measured step times and memory stand beside it in a report.
"""

from collections.abc import Iterable
from typing import Self

from workers.contract.activations import kept_activations, largest_passing
from workers.contract.axes import Arrangement, Collective
from workers.contract.bandwidth import bus_factor
from workers.contract.frozen import Frozen
from workers.contract.layouts import LAYOUTS
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection, judge
from workers.contract.workload import expected_messages, flops_per_rank, weights_per_rank


class ArrangementCost(Frozen):
    """One arrangement. Bytes and elements are of one rank and one step."""

    arrangement: Arrangement
    num_collectives: dict[Collective, int]
    message_bytes: int
    """Sum of the collectives' total arrays, as nccl-tests counts sizes."""
    bus_bytes: int
    """What passes the slowest link of a ring: each message times its bus factor. This compares."""
    flops: int
    weights: int
    kept_activations: int
    """Held from forward to backward of a training step."""
    largest_passing: int
    """The largest tensor that is whole on a rank only while it is sent or read."""


class ArrangementTable(Frozen):
    """All arrangements of one point, the cheapest first, and those that it cannot have."""

    costs: tuple[ArrangementCost, ...]
    rejected: tuple[Rejection, ...]

    @classmethod
    def of(cls, costs: Iterable[ArrangementCost], rejected: Iterable[Rejection] = ()) -> Self:
        """Put the cheapest first."""
        ordered = sorted(costs, key=lambda cost: (cost.flops, cost.bus_bytes, _calls(cost)))
        return cls(costs=tuple(ordered), rejected=tuple(rejected))

    @property
    def cheapest(self) -> ArrangementCost:
        """Among those that do least work: the fewest bytes over the link, then the fewest calls."""
        return self.costs[0]

    def why(self, cost: ArrangementCost) -> str:
        """Say what an arrangement takes more of, or less, than the cheapest one."""
        best = self.cheapest
        if cost == best:
            return (
                "least work; of those with no more, fewest bytes over the slowest link, "
                "then fewest collectives"
            )
        parts = [
            _times("work", cost.flops, best.flops),
            _times("bytes over the slowest link", cost.bus_bytes, best.bus_bytes),
            _times("collectives", _calls(cost), _calls(best)),
            _times("activations kept", cost.kept_activations, best.kept_activations),
        ]
        return ", ".join(part for part in parts if part) or "the same"


def compare_arrangements(spec: PointSpec) -> ArrangementTable:
    """Cost every arrangement of the point, whichever of them it has itself.

    A stack of layers is no way to arrange one.
    """
    costs, rejected = [], []
    for arrangement in (one for one in Arrangement if not LAYOUTS[one].splits_layers):
        arranged = spec.model_copy(update={"arrangement": arrangement})
        if rejection := judge(arranged):
            rejected.append(rejection)
        else:
            costs.append(cost_of(arranged))
    return ArrangementTable.of(costs, rejected)


def cost_of(spec: PointSpec) -> ArrangementCost:
    """Cost the point as it is arranged."""
    messages = expected_messages(spec)
    num_collectives = {op: sum(m.op is op for m in messages) for op in Collective}
    return ArrangementCost(
        arrangement=spec.arrangement,
        num_collectives={op: count for op, count in num_collectives.items() if count},
        message_bytes=sum(message.message_bytes for message in messages),
        bus_bytes=round(
            sum(m.message_bytes * bus_factor(m.op, num_ranks=spec.tp_degree) for m in messages)
        ),
        flops=flops_per_rank(spec),
        weights=weights_per_rank(spec),
        kept_activations=kept_activations(spec),
        largest_passing=largest_passing(spec),
    )


def _calls(cost: ArrangementCost) -> int:
    return sum(cost.num_collectives.values())


def _times(what: str, value: int, best: int) -> str:
    """Return nothing where the two are alike."""
    if value == best:
        return ""
    if not value:
        return f"no {what}"
    return f"{value / best:.2f}x the {what}" if best else f"{value} {what} instead of none"
