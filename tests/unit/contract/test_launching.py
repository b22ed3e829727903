"""What a CUDA graph is refused for, before anything is queued, and what works then."""

import pytest

from tests.unit.api.nodes import node
from tests.unit.workers.builders import point
from workers.contract.axes import Launch
from workers.contract.launching import judge_launch, judge_launch_on

GRAPH = Launch.CUDA_GRAPH


def test_a_graph_is_another_point_and_eager_ones_keep_their_key() -> None:
    assert point().launch is Launch.EAGER
    assert point(launch="eager").spec_key == point().spec_key
    assert point(launch=GRAPH).spec_key != point().spec_key


@pytest.mark.parametrize("phase", ["train", "prefill", "decode"])
@pytest.mark.parametrize("tp_degree", [1, 2])
def test_every_phase_can_be_recorded(phase: str, tp_degree: int) -> None:
    assert judge_launch(point(launch=GRAPH, phase=phase, tp_degree=tp_degree)) is None


@pytest.mark.parametrize(
    ("field", "value"), [("overlap", "backward"), ("collective_impl", "one_shot")]
)
def test_what_a_graph_cannot_hold_is_refused_with_what_works(field: str, value: str) -> None:
    rejection = judge_launch(point(launch=GRAPH, **{field: value}))
    assert rejection is not None
    assert (rejection.field, rejection.value) == ("launch", GRAPH)
    assert f"{field}={value}" in rejection.reason
    assert "works with" in rejection.reason
    assert judge_launch(point(**{field: value})) is None


def test_without_a_cuda_device_a_graph_is_refused() -> None:
    cpu = node(accelerator="some CPU")
    gpu = cpu.model_copy(
        update={"hardware": cpu.hardware.model_copy(update={"memory_class_gib": 80})}
    )
    rejection = judge_launch_on(point(launch=GRAPH), [cpu])
    assert rejection is not None
    assert "launch=eager works" in rejection.reason
    assert judge_launch_on(point(launch=GRAPH), [cpu, gpu]) is None
    assert judge_launch_on(point(), [cpu]) is None
