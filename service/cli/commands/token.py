from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console

from service.cli.administration import open_database
from service.cli.options import AsJson
from service.cli.terminal import cell, new_table, print_json, say, show_table
from service.store import tokens
from service.store.states import Scope
from service.store.tokens import Token

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke access tokens.")

COLUMNS = ("token", "name", "scopes", "created (UTC)", "expires", "state")


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Who it is for; sweeps are listed under it.")],
    *,
    scope: Annotated[
        list[Scope] | None, typer.Option(help="May be given more than once; read and submit.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="Valid this long; without, until revoked.", min=1, max=36500)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a token and print it, once: only a hash of it is kept.

    It is written to the database directly, for the first token cannot come over HTTP.
    """
    scopes = scope or [Scope.READ, Scope.SUBMIT]
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    with open_database() as sessions, sessions.writing() as session:
        token, secret = tokens.create(session, name=name, scopes=scopes, expires_at=expires_at)
    if as_json:
        print_json({"id": token.id, "name": token.name, "token": secret})
        return
    typer.echo(secret)
    notes = Console(stderr=True)
    say(notes, "Keep it now, it is not shown again: export TPSWEEP_TOKEN=…")


@app.command("list")
def show(*, as_json: AsJson = False) -> None:
    """List tokens, oldest first."""
    with open_database() as sessions, sessions.reading() as session:
        found = tokens.list_all(session)
    if as_json:
        print_json([_document(token) for token in found])
        return
    table = new_table("", COLUMNS)
    for token in found:
        expires = f"{token.expires_at:%Y-%m-%d}" if token.expires_at else "never"
        scopes = ", ".join(sorted(token.scopes))
        row = (token.id, token.name, scopes, f"{token.created_at:%Y-%m-%d}", expires)
        table.add_row(*map(cell, (*row, _state(token))))
    show_table(Console(), table, empty="no tokens")


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(help="The token's id, from `token list`.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Make a token invalid from now on."""
    with open_database() as sessions, sessions.writing() as session:
        token = tokens.revoke(session, token_id)
    if as_json:
        print_json(_document(token))
        return
    say(Console(), f"token {token.id} ({token.name}) is revoked")


def _state(token: Token) -> str:
    if token.revoked_at is not None:
        return "revoked"
    is_over = token.expires_at is not None and token.expires_at <= datetime.now(UTC)
    return "expired" if is_over else "valid"


def _document(token: Token) -> dict[str, JsonValue]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": [*sorted(token.scopes)],
        "created_at": token.created_at.isoformat(),
        "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        "state": _state(token),
    }
