"""What a point would take, and what that answer rests on."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Self

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.costmodel.accelerators import known_names
from service.analysis.costmodel.curve import FEWEST_POINTS
from service.analysis.costmodel.faults import DoubtKind
from service.analysis.costmodel.prediction import Basis, Prediction, within
from service.analysis.costmodel.step import ProductTime, StepPrediction, predict_step
from service.errors import FieldError, InvalidRequestError
from service.reports import calibration
from service.reports.calibration import Calibration, Stored
from service.reports.curve_faults import doubts
from service.reports.measured_series import Series
from service.store import curves, fleet
from workers.contract.axes import Arrangement, Block, Dtype, Overlap, Phase
from workers.contract.catalogue import Model
from workers.contract.frozen import Frozen, Label
from workers.contract.point import PointSpec
from workers.contract.sharding import judge
from workers.contract.sweep import Degree, Extent
from workers.contract.workload import Message

_ADVICE = {
    DoubtKind.CONFIGURATION: "check the configuration",
    DoubtKind.NOISE: "configuration not judged",
}

HardwareName = Annotated[Label, Field(min_length=1)]


class PredictionRequest(Frozen):
    """One point, and the hardware it is asked for."""

    hardware: HardwareName = Field(
        description="Name under which curves were brought in, a measured accelerator or its "
        f"hardware_key, or one of the catalogue: {', '.join(known_names())}."
    )
    model: Model
    block: Block
    arrangement: Arrangement = Arrangement.COLUMN_ROW
    phase: Phase
    tp_degree: Degree
    batch: Extent
    seq: Extent = 1
    dtype: Dtype = Dtype.BFLOAT16

    def point(self) -> PointSpec:
        """The same without the hardware. InvalidRequestError where it cannot be cut."""
        point = PointSpec(**{name: getattr(self, name) for name in _POINT_FIELDS})
        if rejection := judge(point):
            works = ", ".join(map(str, rejection.valid_tp_degrees)) or "none"
            raise _refusal(
                f"/{rejection.field}", f"{rejection.reason}; tp_degrees that work: {works}"
            )
        return point


_POINT_FIELDS = tuple(name for name in PredictionRequest.model_fields if name != "hardware")


class TimeReport(Frozen):
    """A predicted time."""

    time_us: float
    low_us: float | None = Field(
        description="Band that nine of ten held-out points fell into; null where nothing was."
    )
    high_us: float | None
    basis: Basis = Field(
        description="measured: between measured points; fitted: a fitted curve bridges distant "
        "ones; extrapolated: beyond them; catalogue: published figures and a formula."
    )
    calibration: str

    @classmethod
    def of(cls, found: Prediction) -> Self:
        """Publish a prediction."""
        return cls(
            time_us=found.time_us,
            low_us=found.low_us,
            high_us=found.high_us,
            basis=found.basis,
            calibration=found.calibration,
        )


class PredictionReport(Frozen):
    """What one step of the point would take."""

    hardware: str
    spec: PointSpec
    step_time: TimeReport
    compute_time: TimeReport
    communication_time: TimeReport = Field(description="Not hidden behind compute.")
    communication_share: float
    warnings: tuple[str, ...]


def predict(session: Session, request: PredictionRequest) -> PredictionReport:
    """Answer from the measured series of the point, else from its parts, else the catalogue."""
    return predict_from(Stored(session, request.hardware), request)


def predict_from(stored: Stored, request: PredictionRequest) -> PredictionReport:
    """Predict what the request's hardware, of which `stored` is, would take."""
    point = request.point()
    found, warnings = predict_point(stored, point)
    return PredictionReport(
        hardware=request.hardware,
        spec=point,
        step_time=TimeReport.of(found.step),
        compute_time=TimeReport.of(found.compute),
        communication_time=TimeReport.of(found.communication),
        communication_share=found.communication_share,
        warnings=tuple(warnings),
    )


def predict_point(stored: Stored, point: PointSpec) -> tuple[StepPrediction, list[str]]:
    """Return the prediction, and what to know of it. InvalidRequestError where nothing is known."""
    series = calibration.series_of(stored, point)
    if series is not None:
        return _from_series(series, point)
    if point.overlap is not Overlap.NONE or point.num_layers > 1:
        raise _refusal("", "parts that run at the same time, or in turn, do not add up to a step")
    return _from_parts(stored, point)


def _from_series(series: Series, point: PointSpec) -> tuple[StepPrediction, list[str]]:
    """Interpolate the measured steps over the batch."""
    step, compute = series.step.predict(point.batch), series.compute.predict(point.batch)
    if compute.time_us > step.time_us:  # by noise: it is a part of it
        compute = step
    exposed = within(
        max(0.0, step.time_us - compute.time_us),
        None,
        basis=step.basis,
        calibration=step.calibration,
    )
    warnings = []
    if step.basis is Basis.EXTRAPOLATED:
        first, last = series.batches[0], series.batches[-1]
        warnings.append(f"batch {point.batch} lies beyond the measured {first} to {last}")
    return StepPrediction(step, compute, exposed), warnings


def _from_parts(stored: Stored, point: PointSpec) -> tuple[StepPrediction, list[str]]:
    known = calibration.calibrated(stored, point)
    product_time, warnings = _product_time(stored, point, known)

    def message_time(message: Message) -> Prediction:
        found = known.collectives.predict(
            message.op, message_bytes=message.message_bytes, num_ranks=point.tp_degree
        )
        if found is None:
            raise _unknown(stored)
        return found

    found = replace(
        predict_step(point, product_time=product_time, message_time=message_time),
        ratio_spread=known.steps.ratio_spread_of(point) if known.steps else None,
    )
    if found.compute.basis is Basis.EXTRAPOLATED:
        warnings.append(f"compute: extrapolated from {found.compute.calibration}")
    if found.communication.basis is Basis.EXTRAPOLATED:
        warnings.append(f"collectives: extrapolated from {found.communication.calibration}")
    for curve in known.curves:
        warnings += [
            f"{_ADVICE[one.kind]}: {curve.table.operation} among {curve.table.num_ranks} "
            f"ranks, {one.low_bytes} to {one.high_bytes} bytes: {one.reason}"
            for one in doubts(curve)
        ]
    return found, warnings


def _product_time(
    stored: Stored, point: PointSpec, known: Calibration
) -> tuple[ProductTime, list[str]]:
    """Measured steps of this kind of point answer first: they hold what lies between products.

    Then products that a calibration measured, then published peaks.
    """
    steps, accelerator = known.steps, known.accelerator
    if steps is not None:
        return partial(steps.product_time, point=point), []
    if known.products is not None:
        return known.products.predict, []
    if accelerator is None:
        raise _unknown(stored)
    if point.dtype is Dtype.BFLOAT16 and not accelerator.has_bfloat16:
        raise _refusal("/dtype", f"{accelerator.name} has no bfloat16; float16 works")
    warning = f"products: published peaks of {accelerator.name}, which none reaches"
    return partial(accelerator.product_time, dtype=point.dtype), [warning]


def _unknown(stored: Stored) -> InvalidRequestError:
    """Name what is known: brought in, measured or published."""
    seen = {node.facts.hardware.accelerator for node in fleet.nodes(stored.session)}
    names = ", ".join(
        dict.fromkeys([*curves.hardware_names(stored.session), *sorted(seen), *known_names()])
    )
    return _refusal(
        "/hardware",
        f"too little was measured on {stored.hardware!r} to predict this point ({FEWEST_POINTS} "
        f"batches of it would do), and the catalogue has no such accelerator; known are {names}",
    )


def _refusal(pointer: str, detail: str) -> InvalidRequestError:
    return InvalidRequestError(detail, errors=(FieldError(pointer=pointer, detail=detail),))
