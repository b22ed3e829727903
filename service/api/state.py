"""What the application holds while it runs; all of it can be rebuilt from settings and rows."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from service.access.cookies import Cookies
from service.access.doors import Access
from service.api.feed import Feed
from service.settings import Settings
from service.store.engine import Sessions


@dataclass(frozen=True, slots=True)
class Service:
    """Handed to every route.

    A route opens its own transaction, `with service.sessions.writing() as session:`, so that the
    commit happens before the answer is formed, in the thread that runs the route. A session handed
    in by a dependency would be opened and committed in other threads of the same pool: enough
    requests waiting for the database would then keep the one that holds it from ever running.
    """

    settings: Settings
    sessions: Sessions
    access: Access
    cookies: Cookies
    feed: Feed


def service_of(request: Request) -> Service:
    """The service that the request came to."""
    service: Service = request.app.state.service
    return service


async def _given(request: Request) -> Service:
    """As a dependency: not worth the thread that a plain function would be given."""
    return service_of(request)


ServiceDep = Annotated[Service, Depends(_given)]
