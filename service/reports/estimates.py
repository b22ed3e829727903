"""A figure as it is published: its typical value and how well it is known."""

from typing import Self

import numpy as np
from pydantic import Field

from service.analysis.interval import Estimate
from workers.contract.frozen import Frozen


def generator_of(identity: str) -> np.random.Generator:
    """Seeded by what is measured, so that the same rows give the same interval."""
    return np.random.default_rng(int.from_bytes(identity.encode()))


class EstimateReport(Frozen):
    """A quantity over the trials of a point, one value for each trial."""

    median: float = Field(description="Median of the trials' values.")
    ci_low: float | None = Field(description="95 % interval over replicates; null with one.")
    ci_high: float | None
    n: int = Field(description="Trials, each in its own set of processes.")

    @classmethod
    def of(cls, estimate: Estimate) -> Self:
        """Publish an estimate."""
        return cls(median=estimate.median, ci_low=estimate.low, ci_high=estimate.high, n=estimate.n)


class StepTimeReport(EstimateReport):
    """The headline, with the spread of single steps beside the interval of their median."""

    p10: float = Field(description="Of the steps of one trial; the median over trials.")
    p90: float
    num_steps: int = Field(description="Timed steps in all trials.")
