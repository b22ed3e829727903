"""What the sweeps over several links say, beside what the cost model says of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from service.analysis.breakeven import Replicates, Times, pays_from
from service.analysis.costmodel.ring import Link, ring_prediction
from service.analysis.crossing import Crossing, Outcome
from service.store.results import MeasuredTrial
from workers.contract.workload import expected_messages

FRAMES = 1448 / 1514
"""Of a rate that is payload, in Ethernet frames of TCP."""


@dataclass(frozen=True)
class Rate:
    """A link as it was shaped."""

    name: str
    mbit_per_s: int | None


@dataclass(frozen=True)
class Row:
    """One batch over one link; medians over replicates."""

    batch: int
    one_us: float
    two_us: float
    predicted_us: float
    """Of two ranks: compute as over the free link, and the ring over this one."""
    efficiency: float
    """Compute over step of two ranks."""
    predicted_efficiency: float

    @property
    def speed_up(self) -> float:
        """Of two ranks over one."""
        return self.one_us / self.two_us

    @property
    def predicted_speed_up(self) -> float:
        """The same by the prediction."""
        return self.one_us / self.predicted_us


def rows(trials: Sequence[MeasuredTrial], free: Sequence[MeasuredTrial], rate: Rate) -> list[Row]:
    """One for each batch of the sweep over one link; `free` is that over the unshaped one."""
    latency_us = min(
        one.time_us for trial in free for one in trial.summary.collectives if one.time_us > 0
    )
    found = []
    for batch in sorted({trial.spec.batch for trial in trials}):
        one, two = (_at(trials, degree, batch) for degree in (1, 2))
        compute_us = median(t.summary.compute_time_us for t in _at(free, 2, batch))
        step_us = median(t.summary.step_time_us for t in two)
        sent_us = _sent_us(two[0], free, rate, latency_us)
        found.append(
            Row(
                batch=batch,
                one_us=median(t.summary.step_time_us for t in one),
                two_us=step_us,
                predicted_us=compute_us + sent_us,
                efficiency=median(t.summary.compute_time_us / t.summary.step_time_us for t in two),
                predicted_efficiency=compute_us / (compute_us + sent_us),
            )
        )
    return found


def crossing(trials: Sequence[MeasuredTrial]) -> str:
    """From which batch on two ranks pay, or stop to."""
    one, two = (_replicates(trials, degree) for degree in (1, 2))
    pays, stops = pays_from(two, smaller_degree=one), pays_from(one, smaller_degree=two)
    said = [*_said(pays, "pays from"), *_said(stops, "stops paying at")]
    if said:
        return "; ".join(said)
    if pays is not None and pays.outcome is Outcome.NEVER_BELOW:
        return f"pays at every batch in {_range(pays)}"
    if pays is not None and pays.outcome is Outcome.NEVER_ABOVE:
        return f"pays at no batch in {_range(pays)}"
    return "cannot be told"


def predicted_crossing(found: Sequence[Row]) -> str:
    """The same by the predictions, which have no interval."""
    pays = [row.batch for row in found if row.predicted_speed_up > 1]
    if not pays:
        return "pays at no batch"
    if len(pays) == len(found):
        return "pays at every batch"
    return f"pays at {', '.join(map(str, pays))}"


def _sent_us(
    trial: MeasuredTrial, free: Sequence[MeasuredTrial], rate: Rate, latency_us: float
) -> float:
    """Over the free link as it was measured there, over a shaped one by the ring's bytes."""
    if rate.mbit_per_s is None:
        return median(
            max(0.0, t.summary.exposed_communication_us) for t in _at(free, 2, trial.spec.batch)
        )
    link = Link(rate.name, rate.mbit_per_s / 8e3 * FRAMES, latency_us)
    return sum(
        ring_prediction(
            message.op, message_bytes=message.message_bytes, num_ranks=2, link=link
        ).time_us
        for message in expected_messages(trial.spec)
    )


def _at(trials: Sequence[MeasuredTrial], degree: int, batch: int) -> list[MeasuredTrial]:
    return [t for t in trials if (t.spec.tp_degree, t.spec.batch) == (degree, batch)]


def _replicates(trials: Sequence[MeasuredTrial], degree: int) -> Replicates:
    found: dict[tuple[str, int], dict[int, Times]] = {}
    for trial in trials:
        if trial.spec.tp_degree == degree:
            own = found.setdefault((trial.sweep_id, trial.replicate), {})
            own[trial.spec.batch] = Times(
                step_us=trial.summary.step_time_us, compute_us=trial.summary.compute_time_us
            )
    return found


def _said(found: Crossing | None, verb: str) -> Iterator[str]:
    if found is None or found.outcome is not Outcome.CROSSED or found.batch is None:
        return
    low, high = (
        "?" if bound is None else f"{bound:.0f}" for bound in (found.batch.low, found.batch.high)
    )
    yield f"{verb} batch {found.batch.median:.0f} ({low} to {high})"


def _range(found: Crossing) -> str:
    return f"[{found.lowest_batch}, {found.highest_batch}]"
