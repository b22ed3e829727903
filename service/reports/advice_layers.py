"""Which layer advice goes by, of those that were measured for it."""

from collections.abc import Sequence
from fractions import Fraction

from service.errors import FieldError, InvalidRequestError
from service.store.results import MeasuredTrial
from workers.contract.axes import Dtype, Phase
from workers.contract.point import PointSpec
from workers.contract.shapes import ModelShape


def of_the_largest(trials: Sequence[MeasuredTrial]) -> Sequence[MeasuredTrial]:
    """Of layers of the same ratios the largest; the others tell how far scaling is off.

    InvalidRequestError where they differ in anything else.
    """
    if len({_series(trial.spec) for trial in trials}) > 1:
        raise refusal("the sweep measured more than one layer, phase, seq or dtype")
    largest = max(trial.spec.model.hidden_size for trial in trials)
    return [trial for trial in trials if trial.spec.model.hidden_size == largest]


def _series(spec: PointSpec) -> tuple[ModelShape, Fraction, Fraction, Phase, int, Dtype]:
    """What points of layers of one series share: all but the factor of their widths."""
    model = spec.model
    alike = model.nameless.model_copy(
        update={"hidden_size": 0, "intermediate_size": 0, "head_dim": 0}
    )
    inner = Fraction(model.intermediate_size, model.hidden_size)
    heads = Fraction(model.head_dim, model.hidden_size)
    return alike, inner, heads, spec.phase, spec.seq, spec.dtype


def refusal(detail: str) -> InvalidRequestError:
    """A sweep that advice cannot go by."""
    return InvalidRequestError(detail, errors=(FieldError("/sweep", detail),))
