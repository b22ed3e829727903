"""What the cost model says of a sweep's points before they run, kept to be held against them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.costmodel.prediction import Basis, Prediction
from service.errors import InvalidRequestError
from service.reports.calibration import Stored
from service.reports.prediction import predict_point
from service.store import forecasts
from service.store.forecasts import Forecast
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec

MOST_POINTS = 1000
"""Of one sweep: it is done on the cores that measure."""


class ForecastReport(Frozen):
    """A step time predicted before the point ran, beside what it took."""

    time_us: float
    low_us: float | None = Field(description="Of the band; null where nothing was held out.")
    high_us: float | None
    basis: Basis
    calibration: str = Field(description="Which measurements, or which published figures.")
    known_until: datetime = Field(description="Nothing that was measured later was used.")
    made_at: datetime
    error: float = Field(description="Predicted over measured step time, minus 1.")
    is_within: bool | None = Field(
        description="Whether the measured step time lies in the band; null where there is none."
    )

    @classmethod
    def of(cls, forecast: Forecast, *, measured_us: float) -> Self:
        """Hold it against the measured step time."""
        found = forecast.prediction
        is_within = None
        if found.low_us is not None and found.high_us is not None:
            is_within = found.low_us <= measured_us <= found.high_us
        return cls(
            time_us=found.time_us,
            low_us=found.low_us,
            high_us=found.high_us,
            basis=found.basis,
            calibration=found.calibration,
            known_until=forecast.known_until,
            made_at=forecast.made_at,
            error=found.time_us / measured_us - 1,
            is_within=is_within,
        )


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What could be predicted of a sweep's points, by their ids."""

    sweep: forecasts.Open
    predictions: tuple[tuple[str, Prediction], ...]


def predict(session: Session, sweep_id: str) -> Foreseen | None:
    """Predict what of a bound sweep nothing was predicted of; None where there is no such point.

    From what had been measured when the sweep was created, whatever has been measured since.
    """
    found = forecasts.find_open(session, sweep_id)
    if found is None:
        return None
    stored = Stored(
        session,
        found.hardware.accelerator,
        hardware_key=found.hardware.hardware_key,
        until=found.known_until,
    )
    return Foreseen(found, tuple(_predicted(stored, found.points[:MOST_POINTS])))


def freeze(session: Session, found: Foreseen) -> None:
    """Store it."""
    forecasts.freeze(session, found.sweep, found.predictions)


def _predicted(
    stored: Stored, points: tuple[tuple[str, PointSpec], ...]
) -> Iterator[tuple[str, Prediction]]:
    for point_id, spec in points:
        if not stored.can_tell(spec):
            continue
        try:
            found, _ = predict_point(stored, spec)
        except InvalidRequestError:
            continue
        yield point_id, found.step
