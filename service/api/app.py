"""The application: routers, errors and middleware put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Route

from service.access.cookies import Cookies, key_of
from service.access.doors import access_of
from service.api import (
    advice,
    arrangements,
    baselines,
    breakeven,
    calibrations,
    claims,
    comparison,
    curves,
    docs,
    events,
    export,
    findings,
    fingerprints,
    fleet,
    groups,
    health,
    imports,
    memory,
    models,
    nodes,
    openapi,
    pairs,
    prediction,
    problems,
    recommendation,
    results,
    schedules,
    self_check,
    series,
    sweeps,
    tokens,
    topology,
    trials,
    webhooks,
)
from service.api.envelope import Envelope
from service.api.feed import Feed
from service.api.state import Service
from service.pages.house import House
from service.pages.routers import ROUTERS as PAGES
from service.settings import Settings
from service.store.commits import CommitWatch
from service.store.engine import Sessions

ROUTERS: tuple[APIRouter, ...] = (
    sweeps.router,
    events.router,
    pairs.router,
    export.router,
    imports.router,
    results.router,
    trials.router,
    schedules.router,
    baselines.router,
    self_check.router,
    findings.router,
    webhooks.router,
    fingerprints.router,
    comparison.router,
    groups.router,
    breakeven.router,
    arrangements.router,
    calibrations.router,
    curves.router,
    memory.router,
    recommendation.router,
    advice.router,
    claims.router,
    prediction.router,
    models.router,
    nodes.router,
    fleet.router,
    series.router,
    topology.router,
    tokens.router,
    health.router,
    docs.router,
)


class Application(FastAPI):
    """FastAPI with our description of itself."""

    def openapi(self) -> openapi.Document:
        """Build the document once."""
        if self.openapi_schema is None:
            service: Service = self.state.service
            self.openapi_schema = openapi.build(self, ROUTERS, service.access)
        return self.openapi_schema


def create_app(settings: Settings, sessions: Sessions) -> FastAPI:
    """Put the API together; nothing is opened or started yet."""
    app = Application(
        title="tpsweep",
        version=version("tpsweep"),
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        lifespan=_lifespan,
    )
    access, cookies = access_of(settings), Cookies(key_of(settings))
    app.state.house = House.build(settings, sessions, access=access, cookies=cookies)
    app.state.service = Service(
        settings=settings,
        sessions=sessions,
        access=access,
        cookies=cookies,
        feed=Feed(
            sessions,
            CommitWatch(sessions.engine),
            poll_s=settings.stream_poll_s,
            max_listeners=settings.max_streams,
        ),
    )
    routes = [route for router in (*ROUTERS, *PAGES) for route in router.routes]
    problems.install(app, [route for route in routes if isinstance(route, Route)])
    for router in ROUTERS:
        app.include_router(router)
    for pages in PAGES:
        app.include_router(pages, include_in_schema=False)
    app.add_middleware(Envelope)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    service: Service = app.state.service
    service.feed.close()
    await service.feed.wait_closed()


def _operation_id(route: APIRoute) -> str:
    """The function's name: what generated clients call the operation."""
    return route.name
