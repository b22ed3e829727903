"""Predictions for one hardware by the cost model, from whatever it was calibrated with."""

from sqlalchemy.orm import Session

from service.analysis.recommendation.evidence import Predicted, Predictor
from service.analysis.recommendation.published import with_published_band
from service.errors import InvalidRequestError
from service.reports import prediction
from service.reports.calibration import Stored
from service.reports.prediction import PredictionReport, PredictionRequest
from workers.contract.point import PointSpec


def from_calibration(session: Session, hardware: str) -> Predictor:
    """Predict by measured series and curves of this hardware, else by published figures.

    Valid as long as the session is.
    """
    stored = Stored(session, hardware)

    def predict(spec: PointSpec) -> Predicted | None:
        request = PredictionRequest(
            hardware=hardware,
            model=spec.model,
            block=spec.block,
            arrangement=spec.arrangement,
            phase=spec.phase,
            tp_degree=spec.tp_degree,
            batch=spec.batch,
            seq=spec.seq,
            dtype=spec.dtype,
        )
        try:
            found = prediction.predict_from(stored, request)
        except InvalidRequestError:
            return None
        return _predicted(found)

    return predict


def _predicted(found: PredictionReport) -> Predicted:
    """Without a band of its own it takes that of published figures."""
    step = found.step_time
    label = f"{step.basis}: {step.calibration}"
    if step.low_us is not None and step.high_us is not None:
        return Predicted(step.time_us, step.low_us, step.high_us, found.communication_share, label)
    return with_published_band(
        compute_us=found.compute_time.time_us,
        communication_us=found.communication_time.time_us,
        label=label,
    )
