"""Which TP degrees make sense for each known model on each published accelerator."""

from collections.abc import Iterator

from pydantic import Field

from service.analysis.costmodel.accelerators import ACCELERATORS, Accelerator
from service.analysis.recommendation.choice import DEFAULT_THRESHOLD, Objective
from service.reports.recommendation.evidence import NOTHING
from service.reports.recommendation.places import published
from service.reports.recommendation.report import Asked, RecommendationReport, report
from workers.contract.axes import Dtype, Phase
from workers.contract.frozen import Frozen
from workers.contract.presets import PRESETS
from workers.contract.whole_model import WholeModel

SEQ = 4096


class RangeReport(Frozen):
    """Decode of one sequence in two bytes, by published figures alone."""

    model: str
    num_parameters: int
    hardware: str
    link: str
    smallest: int | None = Field(description="That divides and fits; null where none does.")
    largest: int | None = Field(
        description="Within a node whose predicted communication is at most the threshold; "
        "the smallest where none is, which memory alone asks for."
    )
    throughput: int | None = Field(description="Recommended for tokens per second and GPU.")


def ranges(*, threshold: float = DEFAULT_THRESHOLD) -> tuple[RangeReport, ...]:
    """One for each model and accelerator."""
    return tuple(_ranges(threshold))


def _ranges(threshold: float) -> Iterator[RangeReport]:
    for preset in PRESETS.values():
        for accelerator in ACCELERATORS:
            place = published(accelerator)
            asked = _asked(preset.model, accelerator, threshold)
            found = report(asked, place, 1, NOTHING)
            possible = [one for one in found.candidates if one.is_possible]
            yield RangeReport(
                model=preset.model.layer.name,
                num_parameters=preset.model.num_parameters,
                hardware=accelerator.name,
                link=accelerator.link.name,
                smallest=possible[0].tp_degree if possible else None,
                largest=_largest(found, threshold),
                throughput=found.tp_degree,
            )


def _asked(model: WholeModel, accelerator: Accelerator, threshold: float) -> Asked:
    return Asked(
        model=model,
        hardware=(),
        batches=(1,),
        seq=SEQ,
        phase=Phase.DECODE,
        dtype=Dtype.BFLOAT16 if accelerator.has_bfloat16 else Dtype.FLOAT16,
        objective=Objective.THROUGHPUT,
        threshold=threshold,
    )


def _largest(found: RecommendationReport, threshold: float) -> int | None:
    possible = [one for one in found.candidates if one.is_possible]
    quiet = [
        one.tp_degree
        for one in possible
        if one.communication_share is not None and one.communication_share <= threshold
    ]
    return max([*quiet, *(one.tp_degree for one in possible[:1])], default=None)
