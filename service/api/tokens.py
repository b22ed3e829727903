"""Access tokens: issued, listed, revoked. A secret is shown once."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Body, Response
from pydantic import Field, StringConstraints

from service.api.auth import Admin
from service.api.examples.tokens import TOKENS
from service.api.paging import Page
from service.api.parameters import in_the_future
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.store import tokens
from service.store.moments import Moment
from service.store.states import Scope
from service.store.tokens import Token
from workers.contract.frozen import Frozen

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], route_class=ApiRoute)

Expiry = Annotated[Moment, in_the_future(consequence="such a token would be of no use")]


class TokenRequest(Frozen):
    """Who gets a token, for what and until when."""

    name: Annotated[
        str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")
    ] = Field(description="Written beside everything that is done with the token.")
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    expires_at: Expiry | None = None


class TokenReport(Frozen):
    """A token without its secret."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    @classmethod
    def of(cls, token: Token) -> "TokenReport":
        """Publish what the rows tell."""
        return cls(
            id=token.id,
            name=token.name,
            scopes=tuple(sorted(token.scopes)),
            created_at=token.created_at,
            expires_at=token.expires_at,
            revoked_at=token.revoked_at,
            last_used_at=token.last_used_at,
        )


class IssuedToken(Frozen):
    """A token and what its holder presents."""

    token: TokenReport
    secret: str = Field(description="Shown this once: `Authorization: Bearer <secret>`.")


@router.post("", status_code=201)
def create_token(
    request: Annotated[TokenRequest, Body(openapi_examples=TOKENS)],
    response: Response,
    service: ServiceDep,
    caller: Admin,
) -> IssuedToken:
    """Issue a token."""
    del caller
    with service.sessions.writing() as session:
        token, secret = tokens.create(
            session, name=request.name, scopes=request.scopes, expires_at=request.expires_at
        )
    response.headers["Location"] = f"/v1/tokens/{token.id}"
    return IssuedToken(token=TokenReport.of(token), secret=secret)


@router.get("")
def list_tokens(service: ServiceDep, caller: Admin) -> Page[TokenReport]:
    """Every token, oldest first, revoked and expired ones too."""
    del caller
    with service.sessions.reading() as session:
        found = tokens.list_all(session)
    return Page(items=[TokenReport.of(token) for token in found], next_cursor=None)


@router.delete("/{token_id}", status_code=204)
def revoke_token(token_id: str, service: ServiceDep, caller: Admin) -> None:
    """Revoke a token at once; it stays in the list."""
    del caller
    with service.sessions.writing() as session:
        tokens.revoke(session, token_id)
