"""Predictions from nothing but published figures, for where nothing was measured or calibrated."""

from math import sqrt

from service.analysis.costmodel.accelerators import Accelerator
from service.analysis.costmodel.gemm import Product
from service.analysis.costmodel.prediction import Basis, Prediction, within
from service.analysis.costmodel.ring import ring_prediction
from service.analysis.costmodel.step import StepPrediction, predict_step
from service.analysis.recommendation.evidence import Predicted, Predictor
from workers.contract.point import PointSpec
from workers.contract.workload import Message

MOST_COMPUTE = 2.0
"""Real products take from what the peaks allow to this many times it."""
MOST_COMMUNICATION = 1.5
"""The same of a collective: 30 us of start where 20 are published."""


def from_published(accelerator: Accelerator) -> Predictor:
    """Predict for one server of this accelerator; nothing beyond it.

    Both ends of the band are of one device each, the best there could be and a poor one.
    """

    def predict(spec: PointSpec) -> Predicted | None:
        if spec.tp_degree > accelerator.num_devices:
            return None
        found = predict_published(spec, accelerator)
        compute, communication = found.compute.time_us, found.communication.time_us
        low = compute + communication
        high = MOST_COMPUTE * compute + MOST_COMMUNICATION * communication
        return Predicted(
            step_us=sqrt(low * high),
            low_us=low,
            high_us=high,
            communication_share=communication * sqrt(MOST_COMMUNICATION / (low * high)),
            label=f"published figures of {accelerator.name}",
        )

    return predict


def predict_published(spec: PointSpec, accelerator: Accelerator) -> StepPrediction:
    """At the peaks and the line rate."""

    def product_time(product: Product) -> Prediction:
        time_us = accelerator.roofline(spec.dtype).time_us(
            product, element_bytes=spec.dtype.num_bytes
        )
        return within(time_us, None, basis=Basis.CATALOGUE, calibration=accelerator.source)

    def message_time(message: Message) -> Prediction:
        return ring_prediction(
            message.op,
            message_bytes=message.message_bytes,
            num_ranks=spec.tp_degree,
            link=accelerator.link,
        )

    return predict_step(spec, product_time=product_time, message_time=message_time)
