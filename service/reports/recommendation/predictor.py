"""Predictions for one hardware by the cost model, from whatever it was calibrated with."""

import math

from sqlalchemy.orm import Session

from service.analysis.costmodel.prediction import Basis, Prediction
from service.analysis.costmodel.step import StepPrediction
from service.analysis.recommendation.evidence import Ends, Errors, Predicted, Predictor
from service.analysis.recommendation.published import (
    communication_ends,
    compute_ends,
    with_published_band,
)
from service.errors import InvalidRequestError
from service.reports import prediction
from service.reports.calibration import Stored
from workers.contract.point import PointSpec
from workers.contract.sharding import judge


def from_calibration(session: Session, hardware: str) -> Predictor:
    """Predict by measured series and curves of this hardware, else by published figures.

    Valid as long as the session is.
    """
    stored = Stored(session, hardware)

    def predict(spec: PointSpec) -> Predicted | None:
        if judge(spec):
            return None
        try:
            found, _ = prediction.predict_point(stored, spec)
        except InvalidRequestError:
            return None
        return _predicted(found)

    return predict


def _predicted(found: StepPrediction) -> Predicted:
    """What has no band of its own, compute or communication, takes that of published figures."""
    step = found.step
    label = f"{step.basis}: {step.calibration}"
    if step.low_us is not None and step.high_us is not None:
        return Predicted(
            step_us=step.time_us,
            low_us=step.low_us,
            high_us=step.high_us,
            communication_share=found.communication_share,
            label=label,
            errors=_errors(found, step.high_us),
        )
    compute, communication = _ends(found.compute), _ends(found.communication)
    if compute is None and communication is None:
        return with_published_band(
            compute_us=found.compute.time_us,
            communication_us=found.communication.time_us,
            label=label,
        )
    compute = compute or compute_ends(found.compute.time_us)
    communication = communication or _stretched_ends(found.communication)
    return _from_ends(compute, communication, label=label, own=_own(found))


def _from_ends(compute: Ends, communication: Ends, *, label: str, own: float) -> Predicted:
    sent_us = math.sqrt(communication.low_us * communication.high_us)
    step_us = math.sqrt(compute.low_us * compute.high_us) + sent_us
    return Predicted(
        step_us=step_us,
        low_us=compute.low_us + communication.low_us,
        high_us=compute.high_us + communication.high_us,
        communication_share=sent_us / step_us,
        label=label,
        errors=Errors(compute=compute, communication=communication, own=own),
    )


def _stretched_ends(one: Prediction) -> Ends:
    """A line rate is never reached; a curve of another number of ranks may err to either side."""
    ends = communication_ends(one.time_us)
    if one.basis is Basis.CATALOGUE:
        return ends
    return Ends(one.time_us**2 / ends.high_us if one.time_us else 0.0, ends.high_us)


def _errors(found: StepPrediction, high_us: float) -> Errors:
    """Shared with other TP degrees where pairs of these were held out, which tells what is own."""
    compute, communication = _ends(found.compute), _ends(found.communication)
    if found.ratio_spread is None or compute is None or communication is None:
        own = math.log(high_us / found.step.time_us)
        return Errors.independent(found.step.time_us, own=own)
    return Errors(compute=compute, communication=communication, own=_own(found))


def _own(found: StepPrediction) -> float:
    """Of one of two whose ratio was held out; else all of its band, and nothing of a catalogue."""
    if found.ratio_spread is not None:
        return found.ratio_spread / math.sqrt(2)
    compute = _ends(found.compute)
    return math.log(compute.high_us / found.compute.time_us) if compute else 0.0


def _ends(one: Prediction) -> Ends | None:
    if one.low_us is None or one.high_us is None:
        return None
    return Ends(one.low_us, one.high_us)
