"""The overview of commands, and a group that imports a command's module only when it is called.

`tpsweep --help` reads this table alone, so it stays instant whatever the commands import.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import typer
import typer.core
import typer.main


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lives, and the line the overview shows for it. The module holds an `app`."""

    module: str
    summary: str
    panel: str


RUN, ASK, READ, KEEP = "Run the service", "Ask for measurements", "Read results", "Administer"

COMMANDS: Mapping[str, Entry] = {
    "up": Entry("up", "Run the API, the dispatcher and the watch until Ctrl-C.", RUN),
    "dispatch": Entry("dispatch", "Run only the dispatcher, beside an API elsewhere.", RUN),
    "demo": Entry("demo", "Start everything, measure a demonstration sweep, show it.", RUN),
    "advise": Entry("advise", "Measure a few points here and say which TP degree to use.", ASK),
    "submit": Entry("submit", "Queue a sweep from a JSON file, or from - for stdin.", ASK),
    "preview": Entry("preview", "Show what a sweep would measure; nothing is queued.", ASK),
    "watch": Entry("watch", "Follow a sweep until it ends.", ASK),
    "cancel": Entry("cancel", "Stop what is left of a sweep.", ASK),
    "retry": Entry("retry", "Queue the failed points of a sweep again.", ASK),
    "calibrate": Entry(
        "calibrate", "Measure collectives, matrix products and memory, for predictions.", ASK
    ),
    "schedule": Entry("schedule", "Measure a sweep again and again.", ASK),
    "baseline": Entry("baseline", "Pin sweeps under names to hold others against.", ASK),
    "webhook": Entry("webhook", "Tell findings to a URL, a Slack channel, by e-mail.", ASK),
    "sweeps": Entry("sweeps", "List sweeps, or show one with what went wrong.", READ),
    "schedules": Entry("schedules", "List schedules and when each starts next.", READ),
    "findings": Entry("findings", "List what the nights of schedules show.", READ),
    "finding": Entry("finding", "Look at a finding, and decide on it.", READ),
    "policies": Entry("policies", "Show how good the judgements of each schedule were.", READ),
    "results": Entry("results", "Show measured points.", READ),
    "profile": Entry("profile", "Write the trace of a profiled trial to a file.", READ),
    "compare": Entry("compare", "Compare any two sides point by point.", READ),
    "check": Entry("check", "Tell CI whether a sweep is slower than a baseline.", READ),
    "self-check": Entry(
        "self_check", "Show how often a point is called different from itself.", READ
    ),
    "pairs": Entry("pairs", "Show which of two paired points is faster, and what does it.", READ),
    "groups": Entry("groups", "Show how wrong intervals over warm processes are.", READ),
    "breakeven": Entry("breakeven", "Show from which batch on compute is longer.", READ),
    "arrangements": Entry("arrangements", "Show what each way to cut a block costs.", READ),
    "recommend": Entry("recommend", "Say which TP degree to run a model with.", READ),
    "claims": Entry("claims", "Hold two articles about tensor parallelism to what is true.", READ),
    "memory": Entry("memory", "Plan what one GPU has to hold.", READ),
    "curves": Entry("curves", "Show collective times over message sizes.", READ),
    "roofline": Entry("roofline", "Show what devices make of matrix products.", READ),
    "topology": Entry("topology", "Explain what `nvidia-smi topo -m` printed.", READ),
    "fleet": Entry(
        "fleet", "Show which nodes are slower than their peers, noisy, flaky or missing.", READ
    ),
    "nodes": Entry("nodes", "List the machines that measure.", READ),
    "detect": Entry(
        "detect", "Find change points, drift and spikes in any series; needs no server.", READ
    ),
    "export": Entry("export", "Write results to a file, for another instance or a table.", KEEP),
    "import": Entry("import_results", "Bring in what was measured elsewhere.", KEEP),
    "token": Entry("token", "Create, list and revoke access tokens.", KEEP),
    "db": Entry("db", "Look after the database's schema.", KEEP),
}


def load(name: str) -> Any:  # noqa: ANN401 - the command class is the library's own
    """Import the command's module and build its command."""
    module = importlib.import_module(f"service.cli.commands.{COMMANDS[name].module}")
    command = typer.main.get_command(module.app)
    command.name = name
    return command


class LazyGroup(typer.core.TyperGroup):
    """Holds a stub for each command, good for the overview, until the command is called."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - passed on as it came
        super().__init__(**attributes)
        for name, entry in COMMANDS.items():
            stub = typer.core.TyperCommand(name, help=entry.summary, rich_help_panel=entry.panel)
            self.add_command(stub)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own types
        """Find the command by the rules of typer, then load what the stub stands for."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, stub and load(stub.name or ""), rest
