import shlex
from enum import StrEnum

from pydantic import Field

from workers.contract.frozen import Frozen
from workers.contract.sweep import SweepSpec


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    DOES_NOT_FOLLOW = "does not follow"
    DEPENDS = "depends on the hardware"
    """Not decided by arithmetic; measurements here decide it for this hardware."""


class Claim(Frozen):
    """One claim of the two articles about tensor parallelism, and what it comes to.

    A is "Why exactly two AllReduces", B "When the AllReduce becomes the bottleneck".
    """

    number: int
    source: str = Field(description="A, B or both.")
    claim: str
    article: str = Field(description="The article's figure.")
    ours: str = Field(description="The same, computed by this product's own functions.")
    figures: tuple[float, ...] = Field(description="The numbers of `ours`, in its order.")
    verdict: Verdict
    command: str = Field(description="What shows it, or measures it here.")

    @property
    def measured_by(self) -> SweepSpec | None:
        """The sweep that `command` submits; None where it submits none."""
        first, *rest = shlex.split(self.command)
        return SweepSpec.model_validate_json(rest[0]) if first == "echo" else None
