from typing import Any

from workers.contract.shapes import ModelShape


def resolve_model(element: Any) -> ModelShape:  # noqa: ANN401 - raw input of any type
    return ModelShape.model_validate(element)
