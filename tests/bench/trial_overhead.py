"""What a trial costs beyond its timed steps: our warm groups against torchrun for every point.

    python -m tests.bench.trial_overhead

Ours: a sweep of 40 points x 3 replicates through the whole service, group starts, database and all,
divided by its 120 trials. Theirs: `torchrun --nproc-per-node=2` for points of the same sweep, run
before and after it. Goal: at least 20 times less.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.bench.ratios import say
from tests.service_process import Client, running_service
from workers.contract.sweep import SweepSpec
from workers.contract.trial import TrialOrder

SWEEP = {
    "models": ["pythia-31m"],
    "blocks": ["mlp", "attention"],
    "phase": ["train", "prefill"],
    "tp_degree": [1, 2],
    "batch": [1, 4, 16, 64, 128],
    "replicates": 3,
    "sampling": {"max_time_s": 0.05},
}
TORCHRUN_REPEATS = 6
"""Before the sweep, and again after it."""


def ours(client: Client) -> list[float]:
    """Seconds of a trial beyond its timed steps, the mean over one sweep."""
    began = time.perf_counter()
    sweep = client.finished(client.post("/sweeps", SWEEP)["id"])
    wall_s = time.perf_counter() - began
    assert sweep["state"] == "succeeded", sweep
    timed_s = 0.0
    for result in client.get("/results", sweep=sweep["id"], limit=200)["items"]:
        trials = client.get(f"/results/{result['id']}")["trials"]
        timed_s += sum(trial["timed_s"] for trial in trials)
    num_trials = sweep["num_points"] * SweepSpec.model_validate(SWEEP).replicates
    return [(wall_s - timed_s) / num_trials]


def theirs() -> list[float]:
    """Seconds of one point beyond its timed steps when torchrun starts its processes."""
    spec = SweepSpec.model_validate(SWEEP)
    points = [point for point in spec.expand().points if point.tp_degree == 2]
    overheads = []
    for point in points[:: len(points) // TORCHRUN_REPEATS][:TORCHRUN_REPEATS]:
        order = TrialOrder(
            trial_id="t",
            attempt=1,
            replicate=0,
            point=point,
            sampling=spec.sampling,
            seed=0,
            deadline_s=60,
        )
        command = [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
            "-m", "tests.bench.torchrun_point", order.model_dump_json(),
        ]  # fmt: skip
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wall_s = time.perf_counter() - began
        timed_ns = int(done.stdout.split("timed_ns")[1].split()[0])
        overheads.append(wall_s - timed_ns / 1e9)
    return overheads


def main() -> int:
    """Return 0 where the goal is met."""
    torchrun = theirs()
    with (
        tempfile.TemporaryDirectory(prefix="tpsweep-") as home,
        running_service(Path(home)) as client,
    ):
        trials = [cost for _ in range(5) for cost in ours(client)]
    torchrun += theirs()
    ratio = median(torchrun) / median(trials)
    say(
        "trial_overhead",
        ours_s=[round(cost, 3) for cost in trials],
        torchrun_s=[round(cost, 2) for cost in torchrun],
        median_ratio=round(ratio, 1),
        goal=20,
    )
    return 0 if ratio >= 20 else 1


if __name__ == "__main__":
    sys.exit(main())
