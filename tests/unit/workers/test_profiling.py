import gzip
import json

import torch
from torch import Tensor

from workers.contract.profile import STEP_NAME, Profile
from workers.timing.peers import Peers
from workers.timing.profiling import NUM_STEPS, profile_steps


class Product:
    has_backward = False

    def forward(self) -> Tensor:
        return torch.ones(8, 8) @ torch.ones(8, 8)

    def backward(self, output: Tensor) -> None: ...


def profiled(*, shows_collectives: bool) -> Profile:
    return profile_steps(
        Product(),
        device=torch.device("cpu"),
        peers=Peers(None, clock_identity=""),
        shows_collectives=shows_collectives,
    )


def test_a_few_extra_steps_leave_a_trace_that_a_browser_can_read() -> None:
    profile = profiled(shows_collectives=True)
    events = json.loads(gzip.decompress(profile.trace_gzip))["traceEvents"]
    names = [event.get("name") for event in events]
    assert names.count("aten::mm") == NUM_STEPS
    assert names.count(STEP_NAME) >= NUM_STEPS
    assert profile.collective_share == 0


def test_a_share_that_the_trace_cannot_show_is_none_and_not_0() -> None:
    profile = profiled(shows_collectives=False)
    assert profile.collective_share is None
    assert profile.trace_gzip
