"""A rank whose second point of a pair is slower by a known amount, in a known part of the step."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

import torch
from torch import Tensor

from workers.contract.axes import Pass
from workers.prepare import Place, Subject, prepare
from workers.rank import Rank
from workers.timing.clocks import Step
from workers.tp.group import PassedOn

COMPUTE_SHARE = 0.10
"""More work in the second point's compute."""
DELAY_NS = 200_000
"""Longer in the second point's forward collective."""
DELAYED = "mlp.forward"
EXTENT = 48
"""Of the small products that the additional work is made of, so that it slows with the host."""
CALIBRATION_STEPS = 30


class Plant(StrEnum):
    """What the second point of a pair has that the first has not."""

    NOTHING = "nothing"
    COMPUTE = "compute"
    DELAY = "delay"

    @classmethod
    def of(cls, seed: int) -> "Plant":
        """The plant of a trial, which its seed tells: orders have no field for it."""
        return list(cls)[seed]

    @property
    def seed(self) -> int:
        """The seed of trials that have it."""
        return list(Plant).index(self)


class PlantedRank(Rank):
    """Slows the second point of each pair down."""

    def prepare(self, place: Place, seed: int) -> Subject:
        """Make the steps, and plant what the seed tells."""
        plant = Plant.of(seed)
        if place.number == 0 or plant is Plant.NOTHING:
            return prepare(place, seed)
        if plant is Plant.DELAY:
            group = place.seat.group
            delayed = group.with_collectives(Delayed(group.collectives))
            return prepare(replace(place, seat=replace(place.seat, group=delayed)), seed)
        subject = prepare(place, seed)
        work = _work(subject.steps[Pass.COMPUTE])
        steps = {
            kind: MoreWork(step, work) if step.has_backward else step
            for kind, step in subject.steps.items()
        }
        return replace(subject, steps=steps)


@dataclass(frozen=True, slots=True)
class MoreWork:
    """A step with something more to compute before it."""

    step: Step
    work: Callable[[], None]
    has_backward: bool = True

    def forward(self) -> Tensor:
        """The work, then the step's forward."""
        self.work()
        return self.step.forward()

    def backward(self, output: Tensor) -> None:
        """As it was."""
        self.step.backward(output)


class Delayed(PassedOn):
    """Collectives of which one takes longer on every rank."""

    def all_reduce(self, tensor: Tensor, *, where: str) -> Tensor:
        """Wait, where it is the one, then sum."""
        if where == DELAYED:
            end = time.perf_counter_ns() + DELAY_NS
            while time.perf_counter_ns() < end:
                pass
        return super().all_reduce(tensor, where=where)


def _work(step: Step) -> Callable[[], None]:
    """As many small products as take the share of a compute-only step; both timed by turns."""
    left, right = torch.randn(EXTENT, EXTENT), torch.randn(EXTENT, EXTENT)
    product = torch.empty(EXTENT, EXTENT)

    def small() -> None:
        for _ in range(10):
            torch.mm(left, right, out=product)

    steps, products = [], []
    for _ in range(CALIBRATION_STEPS):
        steps.append(_time(lambda: step.backward(step.forward())))
        products.append(_time(small) / 10)
    count = max(1, round(COMPUTE_SHARE * median(steps) / median(products)))

    def work() -> None:
        for _ in range(count):
            torch.mm(left, right, out=product)

    return work


def _time(run: Callable[[], None]) -> int:
    begin = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - begin
