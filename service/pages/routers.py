"""All pages."""

from typing import Final

from fastapi import APIRouter

from service.pages import (
    baselines,
    claims,
    compare,
    findings,
    hardware,
    history,
    memory_planner,
    new_sweep,
    overview,
    point,
    recommend,
    schedules,
    sign_in,
    static_files,
    sweep,
    sweep_actions,
    sweeps,
    tokens,
    webhooks,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    overview.router,
    sweeps.router,
    new_sweep.router,
    sweep.router,
    sweep_actions.router,
    point.router,
    compare.router,
    findings.router,
    history.router,
    hardware.router,
    recommend.router,
    memory_planner.router,
    claims.router,
    schedules.router,
    baselines.router,
    tokens.router,
    webhooks.router,
    sign_in.router,
    static_files.router,
)
