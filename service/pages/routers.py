"""All pages."""

from typing import Final

from fastapi import APIRouter

from service.pages import (
    compare,
    new_sweep,
    overview,
    point,
    sign_in,
    static_files,
    sweep,
    sweep_actions,
    sweeps,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    overview.router,
    sweeps.router,
    new_sweep.router,
    sweep.router,
    sweep_actions.router,
    point.router,
    compare.router,
    sign_in.router,
    static_files.router,
)
