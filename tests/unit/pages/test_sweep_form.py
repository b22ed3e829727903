"""A form means a sweep, and a sweep fills the form that means it."""

import pytest

from service.errors import InvalidRequestError
from service.pages.curl import curl
from service.pages.sweep_form import FIELDS, STARTING_POINTS, filled, parse
from workers.contract.presets import PRESETS
from workers.contract.sweep import SweepSpec

SHAPE = {"hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 4}
WHOLE = {
    "name": "all of it",
    "models": ["pythia-31m", {**SHAPE, "name": "friend"}],
    "blocks": ["mlp", "attention"],
    "phase": ["train", "decode"],
    "tp_degree": [1, 2],
    "batch": [1, 64],
    "seq": [1, 128],
    "dtype": ["float32", "bfloat16"],
    "replicates": 5,
    "sampling": {"max_time_s": 0.25, "target_rel_ci": 0.1},
    "where": {"accelerator": "H100"},
    "tags": {"commit": "abc", "a": "b=c"},
    "refine": True,
    "priority": 3,
    "arrangement": ["column_row", "row_row"],
    "collective_impl": ["backend", "shared_memory"],
}
PAIR = {
    "models": "pythia-31m",
    "blocks": "mlp",
    "tp_degree": 2,
    "batch": 64,
    "pair": {"axis": "collective_impl", "values": ["backend", "shared_memory"]},
}
LEAST = {"models": "pythia-31m", "blocks.mlp": "on", "phase.train": "on", "dtype.float32": "on"}
LEAST |= {"tp_degree": "1", "batch": "1", "seq": "1"}


@pytest.mark.parametrize("body", [*STARTING_POINTS.values(), WHOLE, PAIR])
def test_the_form_of_a_sweep_means_that_sweep(body: object) -> None:
    spec = SweepSpec.model_validate(body)
    values = filled(spec)
    assert set(values) <= set(FIELDS)
    assert parse(values) == spec


def test_a_sweep_of_a_schedule_is_made_again_as_one_that_somebody_asked_for() -> None:
    own = {"schedule": "nightly", "aa_control": "nightly", "rerun_of": "x"}
    spec = SweepSpec.model_validate({**WHOLE, "tags": {**own, "commit": "abc"}})
    assert parse(filled(spec)).tags == {"commit": "abc"}
    command = curl(spec, "http://host/", needs_token=False)
    assert '"commit"' in command
    assert not any(f'"{key}"' in command for key in own)


def test_a_preset_that_was_changed_is_kept_as_its_shape() -> None:
    changed = PRESETS["pythia-31m"].shape.model_copy(update={"intermediate_size": 4096})
    spec = SweepSpec.model_validate({**PAIR, "models": [changed.model_dump(mode="json")]})
    assert parse(filled(spec)) == spec


def test_a_config_may_be_pasted_as_it_is() -> None:
    config = '{"model_type": "gpt_neox", "hidden_size": 64, "intermediate_size": 256,'
    config += ' "num_attention_heads": 4, "vocab_size": 1000, "unknown": [1]}'
    spec = parse({**LEAST, "models": "", "config": config})
    assert spec.models[0].hidden_size == 64


@pytest.mark.parametrize(
    ("changes", "pointer", "said"),
    [
        ({"models": ""}, "models", "name a preset"),
        ({"models": "gpt-9"}, "models", "gpt-9"),
        ({"config": "{"}, "config", "not JSON"),
        ({"config": "[NaN]"}, "config", "not JSON"),
        ({"blocks.mlp": ""}, "blocks", "tick"),
        ({"batch": "1 x"}, "batch", "'1 x'"),
        ({"batch": ""}, "batch", "whole numbers"),
        ({"batch": "9" * 30}, "batch", "whole numbers"),
        ({"batch": "0"}, "batch", "from 1 to"),
        ({"replicates": "many"}, "replicates", "many"),
        ({"max_time_s": "long"}, "max_time_s", "long"),
        ({"max_time_s": "nan"}, "sampling.max_time_s", ""),
        ({"tags": "x"}, "tags", "key=value"),
        ({"more": "[]"}, "more", "object"),
        ({"more": '{"colour": 1}'}, "colour", ""),
        ({"more": '{"sampling": 1}', "max_time_s": ""}, "sampling", ""),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, str], pointer: str, said: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse({**LEAST, **changes})
    assert caught.value.errors[0].pointer.startswith(pointer)
    assert said in caught.value.errors[0].detail
