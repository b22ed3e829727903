"""Predictions for one hardware by the cost model, from whatever it was calibrated with."""

import math

from sqlalchemy.orm import Session

from service.analysis.costmodel.prediction import Prediction
from service.analysis.costmodel.step import StepPrediction
from service.analysis.recommendation.evidence import Ends, Errors, Predicted, Predictor
from service.analysis.recommendation.published import with_published_band
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
    """Without a band of its own it takes that of published figures."""
    step = found.step
    label = f"{step.basis}: {step.calibration}"
    if step.low_us is None or step.high_us is None:
        return with_published_band(
            compute_us=found.compute.time_us,
            communication_us=found.communication.time_us,
            label=label,
        )
    return Predicted(
        step_us=step.time_us,
        low_us=step.low_us,
        high_us=step.high_us,
        communication_share=found.communication_share,
        label=label,
        errors=_errors(found, step.high_us),
    )


def _errors(found: StepPrediction, high_us: float) -> Errors:
    """Shared with other TP degrees where pairs of these were held out, which tells what is own."""
    compute, communication = _ends(found.compute), _ends(found.communication)
    if found.ratio_spread is None or compute is None or communication is None:
        own = math.log(high_us / found.step.time_us)
        return Errors.independent(found.step.time_us, own=own)
    own = found.ratio_spread / math.sqrt(2)
    return Errors(compute=compute, communication=communication, own=own)


def _ends(one: Prediction) -> Ends | None:
    if one.low_us is None or one.high_us is None:
        return None
    return Ends(one.low_us, one.high_us)
