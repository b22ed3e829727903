from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class CaseKind(StrEnum):
    """What a case is made of, which says what can slow it."""

    COMPUTE = "compute"
    COMMUNICATION = "communication"
    """Dominated by collectives: the cases that a bad link shows in."""
    CONTROL = "control"
    """The fixed GEMM beside every point, which no software of ours changes."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A covariate of one node took another value: driver, NCCL, torch."""

    node: str
    night: int
    """The first with the new value."""
    covariate: str
    value: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a night measures: every node of one hardware class, every case."""

    nodes: tuple[str, ...]
    cases: Mapping[str, CaseKind]
    rollouts: tuple[Rollout, ...] = ()

    def of_kind(self, kind: CaseKind) -> frozenset[str]:
        """Names of its cases."""
        return frozenset(name for name, found in self.cases.items() if found == kind)


@dataclass(frozen=True, slots=True)
class Shift:
    """A confirmed change of level of one series: a case on a node."""

    node: str
    case: str
    night: int
    effect_relative: float
    """Of the time: above 0 is slower."""
    normalised_effect: float | None = None
    """What is left of it once the host's own slowness is divided out; None without a control."""

    @property
    def is_the_hosts(self) -> bool:
        """Whether the control, which no software of ours changes, shows most of it too."""
        left = self.normalised_effect
        return left is not None and abs(left) < abs(self.effect_relative) / 2
