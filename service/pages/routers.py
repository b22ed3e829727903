"""All pages."""

from typing import Final

from fastapi import APIRouter

from service.pages import overview, sign_in, static_files, sweep, sweep_actions, sweeps

ROUTERS: Final[tuple[APIRouter, ...]] = (
    overview.router,
    sweeps.router,
    sweep.router,
    sweep_actions.router,
    sign_in.router,
    static_files.router,
)
