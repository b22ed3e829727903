import gzip
import json

import torch
from torch import Tensor

from workers.contract.profile import STEP_NAME
from workers.timing.peers import Peers
from workers.timing.profiling import NUM_STEPS, profile_steps


class Product:
    has_backward = False

    def forward(self) -> Tensor:
        return torch.ones(8, 8) @ torch.ones(8, 8)

    def backward(self, output: Tensor) -> None: ...


def test_a_few_extra_steps_leave_a_trace_that_a_browser_can_read() -> None:
    peers = Peers(None, clock_identity="")
    profile = profile_steps(Product(), device=torch.device("cpu"), peers=peers)
    events = json.loads(gzip.decompress(profile.trace_gzip))["traceEvents"]
    names = [event.get("name") for event in events]
    assert names.count("aten::mm") == NUM_STEPS
    assert names.count(STEP_NAME) >= NUM_STEPS
    assert profile.collective_share == 0
