"""What one GPU of a cut model has to hold."""

from typing import Annotated

from fastapi import APIRouter, Body

from service.api.auth import Reader
from service.api.examples.planning import MEMORY
from service.api.route import ApiRoute
from service.reports import memory as reports
from service.reports.memory import MemoryReport, MemoryRequest

router = APIRouter(prefix="/v1/memory", tags=["analysis"], route_class=ApiRoute)


@router.post("")
def plan_memory(
    request: Annotated[MemoryRequest, Body(openapi_examples=MEMORY)], caller: Reader
) -> MemoryReport:
    """Weights, gradients, optimizer, activations and cache of one GPU, by arithmetic."""
    del caller
    return reports.report(request)
