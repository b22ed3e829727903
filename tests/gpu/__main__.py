"""`deploy/gpu_check`: every check in turn, a JSON object for each, a table where asked."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.gpu.checks import all_checks
from tests.gpu.ranks import Outcome, run

BUDGET_S = 290.0
"""After this no further check is begun; one takes a minute at most."""


def main() -> int:
    """Return 1 where a check failed; one that was skipped has not."""
    parser = argparse.ArgumentParser(prog="deploy/gpu_check")
    parser.add_argument("--markdown", type=Path, help="also write a table there")
    arguments = parser.parse_args()
    began, outcomes = time.monotonic(), []
    for check in all_checks():
        if time.monotonic() - began > BUDGET_S:
            outcome = Outcome.skipped(check, f"{BUDGET_S:.0f} s were over")
        else:
            outcome = run(check)
        outcomes.append(outcome)
        sys.stdout.write(outcome.model_dump_json() + "\n")
        sys.stdout.flush()
    if arguments.markdown:
        arguments.markdown.parent.mkdir(parents=True, exist_ok=True)
        arguments.markdown.write_text(table(outcomes))
    return 1 if any(outcome.status == "failed" for outcome in outcomes) else 0


def table(outcomes: Sequence[Outcome]) -> str:
    """Markdown."""
    lines = ["| check | status | s | found |", "|---|---|---|---|"]
    for one in outcomes:
        found = ", ".join(f"{name} {value}" for name, value in one.facts.items())
        lines.append(f"| {one.check} | {one.status} | {one.seconds} | {one.reason or found} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
