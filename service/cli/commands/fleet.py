from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console

from service.cli.client import Client
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.cli.wire.fleet import Fleet, NodeStanding
from service.figures import signed_percent

app = typer.Typer()

COLUMNS = ("node", "score", "links", "noise", "nights", "notes")
BARS = "▁▂▃▄▅▆▇█"
HIGHEST = 0.10
"""A score that fills the bar; as much below the peers leaves it empty."""


@app.command()
def fleet(
    *,
    policy: Annotated[str | None, typer.Option(help="Only of this schedule.")] = None,
    nights: Annotated[int, typer.Option(help="The newest so many.", min=5, max=200)] = 30,
    as_json: AsJson = False,
) -> None:
    """Show which nodes are slower than their peers, noisy, flaky or missing.

    A score of 5 % means that a node is about so much slower than the others of its kind, in the
    median over cases; with fewer than five nodes, than it was itself before.
    """
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/fleet", {"policy": policy, "nights": nights})
    if as_json:
        print_json(found.document)
        return
    console, fleets = Console(), found.read(Fleet)
    if not fleets:
        say(console, "no schedule has measured anything yet")
    for one in fleets:
        kind = one.hardware_key if one.hardware is None else one.hardware.accelerator
        against = "its peers" if one.basis == "peers" else "its own nights before"
        title = f"{one.policy} on {kind}, each node against {against}"
        table = new_table(title, COLUMNS, right=("score", "links"))
        for node in one.nodes:
            scores = map(signed_percent, (node.newest_score, node.newest_link_score))
            row = (
                node.node,
                *(score or "-" for score in scores),
                node.noise_grade or "-",
                _bars(node),
                _notes(node),
            )
            table.add_row(*map(cell, row))
        show_table(console, table, empty="no node measures regularly")
        say(console, one.sentence, "bold")


def _bars(node: NodeStanding) -> str:
    return "".join(" " if score is None else BARS[_height(score)] for score in node.scores)


def _height(score: float) -> int:
    share = (score + HIGHEST) / (2 * HIGHEST)
    return min(max(int(share * len(BARS)), 0), len(BARS) - 1)


def _notes(node: NodeStanding) -> str:
    return "; ".join(_said(node))


def _said(node: NodeStanding) -> Iterator[str]:
    if node.stands_out:
        yield "stands out"
    if node.link_stands_out:
        yield "its links stand out"
    if node.is_flaky:
        yield "flaky"
    if node.missing_since is not None:
        yield f"missing since {node.missing_since:%Y-%m-%d}"
