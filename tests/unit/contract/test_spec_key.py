import json
import subprocess
import sys

from tests.unit.contract.points import point, shape
from workers.contract.axes import Block, Dtype, Phase
from workers.contract.point import PointSpec


def test_key_of_a_point_never_changes() -> None:
    """Stored histories hang on it: a new axis or field must leave it as it is."""
    assert point().spec_key == "p1:b874d2c96128c61a5ed41e9589d8031d"
    gated = shape(gated=True, kv_heads=2, head_dim=16)
    other = point(gated, block=Block.ATTENTION, phase=Phase.PREFILL, dtype=Dtype.BFLOAT16, seq=7)
    assert other.spec_key == "p1:a0d0696af98ded3fc1fb5918d518b24b"


def test_key_does_not_depend_on_the_order_of_fields() -> None:
    fields = json.loads(point().model_dump_json())
    backwards = dict(reversed(fields.items()))
    backwards["model"] = dict(reversed(fields["model"].items()))
    assert PointSpec.model_validate(backwards).spec_key == point().spec_key


def test_key_does_not_depend_on_the_process() -> None:
    program = (
        "import sys; from workers.contract.point import PointSpec; "
        "print(PointSpec.model_validate_json(sys.stdin.read()).spec_key)"
    )
    fresh = subprocess.run(
        [sys.executable, "-c", program],
        input=point().model_dump_json(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert fresh.stdout.strip() == point().spec_key


def test_default_given_or_left_out_is_the_same_point() -> None:
    fields = point().model_dump(mode="json", exclude_defaults=True)
    assert "arrangement" not in fields
    assert PointSpec.model_validate({**fields, "arrangement": "column_row"}) == point()
    assert PointSpec.model_validate(fields).spec_key == point().spec_key


def test_name_of_the_model_does_not_enter() -> None:
    assert point(shape(name="house")).spec_key == point().spec_key


def test_whatever_changes_the_work_changes_the_key() -> None:
    points = [
        point(),
        point(block=Block.ATTENTION),
        point(phase=Phase.PREFILL),
        point(phase=Phase.DECODE),
        point(tp_degree=4),
        point(batch=5),
        point(seq=2),
        point(dtype=Dtype.FLOAT16),
        point(shape(hidden=128)),
        point(shape(ffn=128)),
        point(shape(gated=True)),
        point(shape(kv_heads=4)),
        point(shape(head_dim=16)),
        point(shape(parallel=True)),
    ]
    assert len({p.spec_key for p in points}) == len(points)
