"""Advice for one model on the hardware that is here: what to measure for it, and what it says."""

from typing import Annotated

from fastapi import APIRouter, Body

from service.api.auth import Reader
from service.api.examples.planning import ADVICE, ADVICE_PLANS
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import advice as reports
from service.reports import advice_plan as plans
from service.reports.advice import AdviceReport, AdviceRequest
from service.reports.advice_plan import AdvicePlanReport, AdvicePlanRequest

router = APIRouter(prefix="/v1/advice", tags=["analysis"], route_class=ApiRoute)


@router.post("/plan")
def plan_advice(
    request: Annotated[AdvicePlanRequest, Body(openapi_examples=ADVICE_PLANS)],
    service: ServiceDep,
    caller: Reader,
) -> AdvicePlanReport:
    """The sweep to submit next: a probe, and with its id the sweep that holds the advice."""
    del caller
    with service.sessions.reading() as session:
        return plans.plan(session, request)


@router.post("")
def advise(
    request: Annotated[AdviceRequest, Body(openapi_examples=ADVICE)],
    service: ServiceDep,
    caller: Reader,
) -> AdviceReport:
    """The TP degree for each measured batch, with reasons, and where larger degrees pay."""
    del caller
    with service.sessions.reading() as session:
        return reports.advise(session, request)
