"""What advice must say against itself."""

from collections.abc import Mapping, Sequence

from service.reports.recommendation.report import RecommendationReport
from workers.contract.shapes import ModelShape
from workers.contract.whole_model import WholeModel


def of_prediction(
    model: WholeModel,
    layer: ModelShape,
    found: Sequence[RecommendationReport],
    measured_us: Mapping[tuple[int, int], float],
) -> list[str]:
    """Another layer was measured, by degree and batch; and perhaps it says something else."""
    name = model.layer.name or "the model"
    said = [
        (
            f"measured was {layer.name or 'another layer'}, hidden {layer.hidden_size} for "
            f"{model.layer.hidden_size}; what is said of {name} is predicted from that"
        )
    ]
    batches = [str(one.batch) for one in found if _is_contradicted(one, measured_us)]
    if batches:
        where = ", ".join(batches)
        said.append(
            f"at batch {where} the layer that was measured is not faster so itself: take that "
            "prediction with doubt"
        )
    return said


def of_memory(model: WholeModel, found: Sequence[RecommendationReport]) -> list[str]:
    """The whole model has no room here at any degree."""
    needs = [one.needed_bytes for batch in found for one in batch.candidates if one.needed_bytes]
    least = min(needs, default=0) / 1e9
    name = model.layer.name or "the model"
    said = (
        f"all {model.num_layers} layers of {name} do not fit the memory here, at least {least:.1f} "
        "GB for each device: by step times alone"
    )
    return [said]


def _is_contradicted(
    one: RecommendationReport, measured_us: Mapping[tuple[int, int], float]
) -> bool:
    """Whether a larger degree is predicted to pay, and was slower at this batch as measured."""
    if one.tp_degree is None or one.tp_degree == 1:
        return False
    own, alone = measured_us.get((one.tp_degree, one.batch)), measured_us.get((1, one.batch))
    return own is not None and alone is not None and own > alone
