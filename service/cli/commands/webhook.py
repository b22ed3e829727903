import json
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console

from service.cli.client import Client, resource
from service.cli.configuration import load_settings
from service.cli.options import AsJson, Limit
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.cli.wire.webhooks import Delivery, Webhook

app = typer.Typer(no_args_is_help=True, help="Tell findings to a URL, a Slack channel, by e-mail.")

Name = Annotated[str, typer.Argument(help="The webhook's name or id.", show_default=False)]

COLUMNS = ("webhook", "kind", "target", "events", "schedule", "state")
DELIVERY_COLUMNS = ("created (UTC)", "what", "finding", "state", "attempts", "error")


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="What it is called.", show_default=False)],
    target: Annotated[str, typer.Argument(help="URL, or mail address.", show_default=False)],
    *,
    kind: Annotated[str, typer.Option(help="webhook, slack or email.")] = "webhook",
    event: Annotated[
        list[str] | None,
        typer.Option(help="suspect, confirmed, recovered; may be repeated. [the latter two]"),
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Only findings of this schedule.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell findings there from now on; the secret that signs messages is shown this once."""
    asked: dict[str, JsonValue] = {"name": name, "kind": kind, "target": target, "policy": policy}
    if event:
        asked["events"] = [*event]
    with Client.connect(load_settings()) as client:
        answer = client.post("/v1/webhooks", json.dumps(asked).encode())
    if as_json:
        print_json(answer.document)
        return
    console, made = Console(), answer.read(Webhook)
    say(console, f"webhook {made.name} is told: {', '.join(made.events)}")
    if made.secret is not None:
        say(console, f"secret, shown only now: {made.secret}")
    if made.warning:
        say(console, f"for now: {made.warning}")


@app.command("list")
def show(*, as_json: AsJson = False) -> None:
    """List where findings are told."""
    with Client.connect(load_settings()) as client:
        found = client.whole_list("/v1/webhooks")
    if as_json:
        print_json(found.document)
        return
    table = new_table("", COLUMNS)
    for one in found.read(Webhook):
        state = "active" if one.disabled_at is None else f"disabled {one.disabled_at:%Y-%m-%d}"
        row = (one.name, one.kind, one.target, ", ".join(one.events), one.policy or "all", state)
        table.add_row(*map(cell, row))
    show_table(Console(), table, empty="no webhooks")


@app.command("test")
def try_out(name: Name, *, as_json: AsJson = False) -> None:
    """Send a message that says nothing; `deliveries` shows what became of it."""
    with Client.connect(load_settings()) as client:
        answer = client.post(resource("webhooks", name, "test"))
    if as_json:
        print_json(answer.document)
    else:
        say(Console(), f"queued; what became of it: tpsweep webhook deliveries {name}")


@app.command()
def deliveries(name: Name, *, limit: Limit = 20, as_json: AsJson = False) -> None:
    """Show messages and what became of them, newest first."""
    with Client.connect(load_settings()) as client:
        found = client.collect(resource("webhooks", name, "deliveries"), {}, limit=limit)
    if as_json:
        print_json(found.document)
        return
    table = new_table("", DELIVERY_COLUMNS, right=("finding", "attempts"))
    for one in found.read(Delivery):
        state = one.state
        if one.next_attempt_at is not None and one.num_attempts:
            state = f"again at {one.next_attempt_at:%Y-%m-%d %H:%M}"
        when = f"{one.created_at:%Y-%m-%d %H:%M}"
        row = (when, one.announcement, one.finding_id, state, one.num_attempts, one.error)
        table.add_row(*map(cell, row))
    show_table(Console(), table, empty="nothing was sent yet")


@app.command()
def delete(name: Name, *, as_json: AsJson = False) -> None:
    """Forget it, and the messages to it."""
    with Client.connect(load_settings()) as client:
        client.delete(resource("webhooks", name))
    if as_json:
        print_json({"deleted": name})
    else:
        say(Console(), f"webhook {name} is deleted")
