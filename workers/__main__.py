"""`python -m workers sweep.json`: a sweep on this machine alone, one JSON line for each trial.

Needs neither service, database nor Ray. Results go to stdout, progress and refusals to stderr.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from workers.contract.errors import WorkerError
from workers.contract.hardware import NodeFacts
from workers.contract.implementations import degrees_of_group, judge_impl_on
from workers.contract.launching import judge_launch_on
from workers.contract.point import PointSpec
from workers.contract.sweep import SweepSpec
from workers.contract.trial import TrialOrder, TrialResult
from workers.local import LocalGroup
from workers.runtime.host import cpu_model
from workers.runtime.probe import probe_node

TRIAL_SLACK_S = 60.0
"""What a trial may take beyond its timed steps before its ranks end themselves."""


Points = tuple[PointSpec, ...]
"""What one trial measures: a point, or the two of a pair."""


def main() -> int:
    """Return 0 when every trial succeeded, 1 when some failed, 2 when the sweep cannot be read."""
    arguments = _parser().parse_args()
    try:
        spec = SweepSpec.model_validate_json(_read(arguments.sweep))
    except (OSError, ValueError) as error:  # no such file, no text, no sweep
        _say(str(error))
        return 2
    node = probe_node(cpu_model(), address="127.0.0.1", num_cpu_slots=max(spec.tp_degree))
    trials = _measurable(spec, node)
    if not trials:
        _say("nothing is left to measure")
        return 2
    largest = max(points[0].tp_degree for points in trials)
    if largest > node.num_slots:
        _say(f"tp_degree {largest} needs as many devices; this host has {node.num_slots}")
        return 2
    num_failed = 0
    for replicate in range(spec.replicates):
        order = list(trials)
        random.Random(arguments.seed + replicate).shuffle(order)  # noqa: S311 - an order, no secret
        for line in _replicate(spec, order, node, replicate=replicate, seed=arguments.seed):
            num_failed += isinstance(line, str)
            sys.stdout.write((line if isinstance(line, str) else line.model_dump_json()) + "\n")
            sys.stdout.flush()
    return 1 if num_failed else 0


def _read(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).read_text()


def _measurable(spec: SweepSpec, node: NodeFacts) -> tuple[Points, ...]:
    """Return the trials of points that this host can measure, and say why it cannot the others."""
    expansion = spec.expand().without(
        lambda point: judge_impl_on(point, [node]) or judge_launch_on(point, [node])
    )
    for reason, valid in dict.fromkeys((r.reason, r.valid_tp_degrees) for r in expansion.rejected):
        _say(f"rejected: {reason}" + (f"; degrees that work: {valid}" if valid else ""))
    return expansion.trials


def _replicate(
    spec: SweepSpec, trials: list[Points], node: NodeFacts, *, replicate: int, seed: int
) -> Iterator[TrialResult | str]:
    """Measure every trial once in one set of new processes.

    In another set after a failure, and where a trial needs a group of other degrees.
    """
    degrees = {points[0].tp_degree for points in trials}
    group: LocalGroup | None = None
    formed: tuple[int, ...] = ()
    with tempfile.TemporaryDirectory(prefix="tpsweep-") as logs, ExitStack() as stack:
        for number, points in enumerate(trials):
            point, *others = points
            order = TrialOrder(
                trial_id=f"{replicate}-{number}",
                attempt=1,
                replicate=replicate,
                point=point,
                pair_point=others[0] if others else None,
                sampling=spec.sampling,
                seed=seed,
                profile=spec.profile and replicate == 0,
                deadline_s=spec.sampling.max_time_s * (1 + len(others)) + TRIAL_SLACK_S,
            )
            _say(f"replicate {replicate + 1}/{spec.replicates}, trial {number + 1}/{len(trials)}")
            needed = degrees_of_group(points, degrees)
            if needed != formed:
                stack.close()
                group, formed = None, needed
            try:
                group = group or stack.enter_context(
                    LocalGroup(size=needed[-1], degrees=needed, node=node, log_dir=Path(logs))
                )
                yield group.measure(order)
            except (WorkerError, RuntimeError) as error:
                group = None
                yield _failure(point, error)


def _failure(point: PointSpec, error: Exception) -> str:
    code = error.code if isinstance(error, WorkerError) else "unexpected"
    fault = {"code": code, "message": str(error)}
    return json.dumps({"point": point.model_dump(mode="json"), "error": fault})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("sweep", help="file with a sweep as JSON, or - for standard input")
    parser.add_argument("--seed", type=int, default=0, help="of order, weights and inputs")
    return parser


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
