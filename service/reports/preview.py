"""What a sweep would measure, before anything is queued."""

from typing import Self

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis import plan
from service.analysis.schedules.tags import refuse_own_tags
from service.store import fleet
from workers.contract.expansion import Expansion
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec
from workers.contract.sharding import Rejection
from workers.contract.sweep import SweepSpec


class PreviewReport(Frozen):
    """What a sweep would measure, and what it would leave out and why."""

    num_points: int
    num_trials: int = Field(description="Points, or pairs of them, times replicates.")
    points: tuple[PointSpec, ...]
    rejected: tuple[Rejection, ...]
    estimated_s: float = Field(
        description="On one node, where every trial uses its whole time limit: most stop earlier, "
        "and one whose fewest steps take longer goes on."
    )

    @classmethod
    def of(cls, spec: SweepSpec, expansion: Expansion) -> Self:
        """Publish a judged grid."""
        num_points = len(expansion.points)
        return cls(
            num_points=num_points,
            num_trials=len(expansion.trials) * spec.replicates,
            points=expansion.points,
            rejected=expansion.rejected,
            estimated_s=plan.estimated_s(spec, num_points=num_points),
        )


def expand(session: Session, spec: SweepSpec, *, max_points: int) -> Expansion:
    """Judge every combination against the nodes that are known.

    Raises as `plan.expand` and `refuse_own_tags` do.
    """
    refuse_own_tags(spec)
    return plan.expand(spec, nodes=fleet.node_facts(session), max_points=max_points)


def planned(session: Session, spec: SweepSpec, *, max_points: int) -> tuple[SweepSpec, Expansion]:
    """The same for a sweep that is to be queued. InvalidSpecError where nothing of it is left."""
    expansion = expand(session, spec, max_points=max_points)
    plan.refuse_nothing_left(expansion)
    return spec, expansion
