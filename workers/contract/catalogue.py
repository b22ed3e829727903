"""What an element of `models` may be: a preset's name, an explicit shape, or a config.json."""

import difflib
from typing import Annotated

from pydantic import BeforeValidator, Field

from workers.contract.hf_config import is_hf_config, shape_from_config
from workers.contract.hf_whole import whole_model_from_config
from workers.contract.presets import OTHER_NAMES, PRESETS, Preset
from workers.contract.shapes import ModelShape
from workers.contract.whole_model import WholeModel


def resolve_model(element: object) -> ModelShape:
    """Return the shape an element stands for; ValueError names what is wrong with it."""
    return ModelShape.model_validate(shape_or_fields(element))


def shape_or_fields(element: object) -> object:
    """Return the shape of a named or published model, and an explicit shape's fields untouched.

    Those are left to the caller's validation, whose errors then carry the path to each field.
    """
    if isinstance(element, str):
        return find_preset(element).shape
    if is_hf_config(element):
        return shape_from_config(element)
    if isinstance(element, dict | ModelShape):
        return element
    msg = (
        f"a model is a preset's name, a shape or a config.json object, not {type(element).__name__}"
    )
    raise ValueError(msg)


def whole_model_or_fields(element: object) -> object:
    """Do the same for a whole model, whose explicit form is a layer and how many there are."""
    if isinstance(element, str):
        return find_preset(element).model
    if is_hf_config(element):
        return whole_model_from_config(element)
    if isinstance(element, dict | WholeModel):
        return element
    msg = (
        "a model is a preset's name, a config.json object, or layer, num_layers and vocab_size, "
        f"not {type(element).__name__}"
    )
    raise ValueError(msg)


def find_preset(name: str) -> Preset:
    """Return the model of this name; ValueError names those that are known."""
    known = name.strip().lower()
    known = OTHER_NAMES.get(known, known)
    if known in PRESETS:
        return PRESETS[known]
    near = difflib.get_close_matches(known[:100], (*PRESETS, *OTHER_NAMES), n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    msg = (
        f"{name[:100]!r} is not a known model; {hint}known are {', '.join(PRESETS)}; any other "
        "model can be given as a shape or as its config.json"
    )
    raise ValueError(msg)


PresetName = Annotated[
    str, Field(title="Preset", description=f"Known are {', '.join(PRESETS)}.", max_length=100)
]
PublishedConfig = Annotated[
    dict[str, object],
    Field(
        title="Hugging Face config.json",
        description="As it is, known by model_type or architectures; other entries are ignored.",
    ),
]
Model = Annotated[
    ModelShape,
    BeforeValidator(
        shape_or_fields, json_schema_input_type=PresetName | ModelShape | PublishedConfig
    ),
]
"""An element of `models`, turned into the shape it stands for."""

AnyWholeModel = Annotated[
    WholeModel,
    BeforeValidator(
        whole_model_or_fields, json_schema_input_type=PresetName | WholeModel | PublishedConfig
    ),
]
"""A model with its layers and vocabulary, out of any of the three."""
