"""Measures the same sweep over links of several rates and prints what became of it."""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from service.cli.terminal import cell, new_table, say
from service.figures import microseconds
from service.store.results import MeasuredTrial
from tests.shaped_link.findings import Rate, Row, crossing, predicted_crossing, rows
from tests.shaped_link.hosts import obstacle, two_hosts
from tests.shaped_link.measuring import command, measure, service

FREE = Rate("network_unshaped", None)
RATES = (FREE, *(Rate(f"network_{mbit}mbit", mbit) for mbit in (1000, 300, 100)))
QUICK = (FREE, RATES[-1])
CLAIMS = (12, 13, 23, 24)
SWEEP = {
    "name": "the same over every link",
    "models": "gpt2",
    "blocks": "mlp",
    "phase": "prefill",
    "tp_degree": [1, 2],
    "batch": [1, 4, 16, 64, 256],
    "replicates": 3,
    "sampling": {"max_time_s": 0.5, "min_steps": 5},
}
QUICK_SWEEP = {**SWEEP, "batch": [1, 64], "replicates": 1, "sampling": {"max_time_s": 0.2}}
COLUMNS = ("link", "batch", "tp 1", "tp 2", "predicted", "gain", "eff.", "predicted ")


def main() -> int:
    """Run all of it; the exit status."""
    options = _options()
    console = Console()
    if reason := obstacle():
        say(console, f"shaped_link_demo: {reason}")
        return 2
    rates, sweep = (QUICK, QUICK_SWEEP) if options.quick else (RATES, SWEEP)
    home: Path = options.home.absolute()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    found: dict[Rate, list[MeasuredTrial]] = {}
    with two_hosts(home) as hosts, tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(sweep, file)
        file.flush()
        say(console, f"hosts {', '.join(hosts.namespaces)}; results stay in {home}")
        hosts.start_ray()
        for rate in rates:
            hosts.shape(rate.mbit_per_s)
            say(console, f"{rate.name}: measuring")
            with service(hosts, link=rate.name):
                found[rate] = measure(hosts, Path(file.name))
                claims = command(hosts, "claims", "--json")
    _show(console, found)
    _show_claims(console, claims)
    return 0


def _options() -> argparse.Namespace:
    data = Path(os.environ.get("TPSWEEP_HOME", "~/.local/share/tpsweep")).expanduser()
    parser = argparse.ArgumentParser(prog="shaped_link_demo", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two links, two batches, once")
    parser.add_argument("--home", type=Path, default=data / "shaped-link", help="keeps the results")
    return parser.parse_args()


def _show(console: Console, found: dict[Rate, list[MeasuredTrial]]) -> None:
    table = new_table("gpt2 mlp prefill, two ranks across the link", COLUMNS, right=COLUMNS)
    sentences = []
    for rate, trials in found.items():
        own = rows(trials, found[FREE], rate)
        for row in own:
            table.add_row(*map(cell, _cells(rate, row)))
        table.add_section()
        sentences.append(
            f"{rate.name}: tp_degree 2 {crossing(trials)}; predicted: {predicted_crossing(own)}"
        )
    console.print(table)
    for sentence in sentences:
        say(console, sentence)


def _cells(rate: Rate, row: Row) -> Sequence[object]:
    return (
        rate.name.removeprefix("network_"),
        row.batch,
        microseconds(row.one_us),
        microseconds(row.two_us),
        microseconds(row.predicted_us),
        f"{row.speed_up:.2f}x",
        f"{row.efficiency:.0%}",
        f"{row.predicted_efficiency:.0%}",
    )


def _show_claims(console: Console, document: str) -> None:
    for claim in json.loads(document)["items"]:
        if claim["number"] in CLAIMS:
            say(console, f"claim {claim['number']}: {claim['claim']}: {claim['measured']}")


if __name__ == "__main__":
    raise SystemExit(main())
