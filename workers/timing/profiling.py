import gzip
import json
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from workers.contract.profile import STEP_NAME, Profile, collective_share
from workers.timing.clocks import Step
from workers.timing.peers import Peers

NUM_STEPS = 3
LARGEST_TRACE_BYTES = 8 << 20
"""Compressed; a trace of few steps of one block is a hundredth of it."""


def profile_steps(
    step: Step, *, device: torch.device, peers: Peers, shows_collectives: bool
) -> Profile:
    """Run a few steps under torch's profiler. All ranks must; none of their times is kept.

    `shows_collectives` where the trace names all that the step sends: else their share is unknown.
    """
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiler:
        for _ in range(NUM_STEPS):
            peers.begin_together()
            with record_function(STEP_NAME):
                step.backward(step.forward())
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    with tempfile.TemporaryDirectory(prefix="tpsweep-") as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        text = path.read_bytes()
    trace = gzip.compress(text, compresslevel=6, mtime=0)
    return Profile(
        trace_gzip=trace if len(trace) <= LARGEST_TRACE_BYTES else b"",
        collective_share=collective_share(json.loads(text)["traceEvents"])
        if shows_collectives
        else None,
    )
