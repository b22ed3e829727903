"""The form of a new sweep: from its fields to a SweepSpec, and back from an earlier one.

Axes that many sweeps have are fields; whatever else a SweepSpec knows is JSON in the field `more`.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from service.analysis.schedules.tags import without_own_tags
from service.errors import FieldError, InvalidRequestError
from service.pages import forms
from service.pages.numbers import whole_numbers, words
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.presets import PRESETS
from workers.contract.sweep import SweepSpec

Values = Mapping[str, str]
"""By the name of the form's field; a ticked box has the value `on`."""
Body = dict[str, JsonValue]

TICKED: Final = "on"
BOXES: Final = {"blocks": tuple(Block), "phase": tuple(Phase), "dtype": tuple(Dtype)}
NUMBERS: Final = ("tp_degree", "batch", "seq")

FIELDS: Final = (
    *("name", "models", "config", "replicates", "max_time_s", "accelerator", "tags", "more"),
    *NUMBERS,
    *(f"{name}.{one}" for name, known in BOXES.items() for one in known),
)

STARTING_POINTS: Final[Mapping[str, Body]] = {
    "A small model on a laptop": {
        "name": "does pythia-31m gain from two ranks?",
        "models": ["pythia-31m"],
        "blocks": ["mlp", "attention"],
        "phase": ["prefill"],
        "tp_degree": [1, 2],
        "batch": [1, 16, 64, 256, 1024],
        "sampling": {"max_time_s": 0.5},
    },
    "Decode of a 70B model on eight GPUs": {
        "name": "llama-2-70b decode",
        "models": ["llama-2-70b"],
        "blocks": ["layer"],
        "phase": ["decode"],
        "tp_degree": [1, 2, 4, 8],
        "batch": [1, 4, 16, 64, 256],
        "seq": [2048],
        "dtype": ["bfloat16"],
    },
    "Training a 7B model, with and without sequence parallelism": {
        "name": "llama-2-7b train",
        "models": ["llama-2-7b"],
        "blocks": ["layer"],
        "phase": ["train"],
        "tp_degree": [1, 2, 4, 8],
        "batch": [1, 2, 4, 8],
        "seq": [2048],
        "dtype": ["bfloat16"],
        "arrangement": ["column_row", "sequence_parallel"],
    },
}


def parse(values: Values) -> SweepSpec:
    """The sweep that a filled form means. InvalidRequestError names what is wrong in it."""
    body = _json_object("more", values.get("more", ""))
    if values.get("name"):
        body["name"] = values["name"]
    body["models"] = _models(values)
    for name, known in BOXES.items():
        body[name] = [one.value for one in known if values.get(f"{name}.{one}") == TICKED]
        if not body[name]:
            raise _wrong(name, "tick at least one")
    for name in NUMBERS:
        body[name] = list(whole_numbers(name, values.get(name, "")))
    if values.get("replicates"):
        (body["replicates"],) = whole_numbers("replicates", values["replicates"], most=1)
    _add_sampling(body, values.get("max_time_s", ""))
    if values.get("accelerator"):
        body["where"] = {"accelerator": values["accelerator"]}
    if tags := _tags(values.get("tags", "")):
        body["tags"] = tags
    return forms.parse(SweepSpec, body)


def filled(spec: SweepSpec) -> dict[str, str]:
    """The form that means a sweep, as one that people ask for."""
    spec = without_own_tags(spec)
    body = spec.model_dump(mode="json", exclude_defaults=True)
    names = [shape.name for shape in spec.models if _is_preset(shape.name, spec)]
    shapes: list[JsonValue] = [
        shape.model_dump(mode="json") for shape in spec.models if shape.name not in names
    ]
    values = {
        "name": spec.name,
        "models": ", ".join(names),
        "config": _shown(shapes) if shapes else "",
        "replicates": str(spec.replicates),
        "max_time_s": f"{spec.sampling.max_time_s:g}",
        "accelerator": spec.where.accelerator or "",
        "tags": "\n".join(f"{key}={value}" for key, value in spec.tags.items()),
    }
    for name in NUMBERS:
        values[name] = " ".join(map(str, getattr(spec, name)))
    for name in BOXES:
        values |= {f"{name}.{one}": TICKED for one in getattr(spec, name)}
    sampling = body.pop("sampling", {})
    sampling.pop("max_time_s", None)
    taken = {"name", "models", "replicates", "where", "tags", *NUMBERS, *BOXES}
    rest = {name: value for name, value in body.items() if name not in taken}
    if sampling:
        rest["sampling"] = sampling
    values["more"] = _shown(rest) if rest else ""
    return values


def _is_preset(name: str, spec: SweepSpec) -> bool:
    shape = next(one for one in spec.models if one.name == name)
    return name in PRESETS and PRESETS[name].shape == shape


def _models(values: Values) -> list[JsonValue]:
    names: list[JsonValue] = list(words(values.get("models", "")))
    text = values.get("config", "")
    if text:
        given = _json("config", text)
        names += given if isinstance(given, list) else [given]
    if not names:
        raise _wrong("models", "name a preset, or paste a config.json")
    return names


def _add_sampling(body: Body, max_time: str) -> None:
    if not max_time:
        return
    try:
        seconds = float(max_time)
    except ValueError:
        raise _wrong("max_time_s", f"write a number of seconds; got {max_time[:80]!r}") from None
    given = body.get("sampling", {})
    body["sampling"] = {**given, "max_time_s": seconds} if isinstance(given, dict) else given


def _tags(text: str) -> Body:
    tags: Body = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        key, mark, value = line.partition("=")
        if not mark:
            raise _wrong("tags", f"write each tag as key=value on its own line; got {line[:80]!r}")
        tags[key.strip()] = value.strip()
    return tags


def _json_object(name: str, text: str) -> Body:
    found = _json(name, text) if text else {}
    if not isinstance(found, dict):
        raise _wrong(name, "write a JSON object, {…}")
    return found


def _json(name: str, text: str) -> JsonValue:
    try:
        found: JsonValue = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise _wrong(name, f"this is not JSON: {error}") from None
    return found


def _shown(value: JsonValue) -> str:
    return to_json(value, indent=2).decode()


def _wrong(name: str, detail: str) -> InvalidRequestError:
    return InvalidRequestError(f"{name}: {detail}", errors=(FieldError(name, detail),))
