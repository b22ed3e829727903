"""Predictions from nothing but published figures, for where nothing was measured or calibrated."""

from functools import partial
from math import sqrt

from service.analysis.costmodel.accelerators import Accelerator
from service.analysis.costmodel.prediction import Prediction
from service.analysis.costmodel.ring import ring_prediction
from service.analysis.costmodel.step import StepPrediction, predict_step
from service.analysis.recommendation.evidence import Ends, Errors, Predicted, Predictor
from workers.contract.point import PointSpec
from workers.contract.workload import Message

MOST_COMPUTE = 2.0
"""Real products take from what the peaks allow to this many times it."""
MOST_COMMUNICATION = 1.5
"""The same of a collective: 30 us of start where 20 are published."""


def from_published(accelerator: Accelerator) -> Predictor:
    """Predict for one server of this accelerator; nothing beyond it."""

    def predict(spec: PointSpec) -> Predicted | None:
        if spec.tp_degree > accelerator.num_devices:
            return None
        found = _at_the_peaks(spec, accelerator)
        return with_published_band(
            compute_us=found.compute.time_us,
            communication_us=found.communication.time_us,
            label=f"published figures of {accelerator.name}",
        )

    return predict


def with_published_band(*, compute_us: float, communication_us: float, label: str) -> Predicted:
    """Both ends of the band are of one device each, the best there could be and a poor one.

    Such a device is as good or as poor at every TP degree.
    """
    compute, communication = compute_ends(compute_us), communication_ends(communication_us)
    low_us = compute.low_us + communication.low_us
    high_us = compute.high_us + communication.high_us
    return Predicted(
        step_us=sqrt(low_us * high_us),
        low_us=low_us,
        high_us=high_us,
        communication_share=communication_us * sqrt(MOST_COMMUNICATION / (low_us * high_us)),
        label=label,
        errors=Errors(compute=compute, communication=communication, own=0.0),
    )


def compute_ends(peak_us: float) -> Ends:
    """Of what products take at the published peaks."""
    return Ends(peak_us, MOST_COMPUTE * peak_us)


def communication_ends(line_us: float) -> Ends:
    """Of what collectives take at the published line rate."""
    return Ends(line_us, MOST_COMMUNICATION * line_us)


def _at_the_peaks(spec: PointSpec, accelerator: Accelerator) -> StepPrediction:
    """And at the line rate."""

    def message_time(message: Message) -> Prediction:
        return ring_prediction(
            message.op,
            message_bytes=message.message_bytes,
            num_ranks=spec.tp_degree,
            link=accelerator.link,
        )

    product_time = partial(accelerator.product_time, dtype=spec.dtype)
    return predict_step(spec, product_time=product_time, message_time=message_time)
