"""What a point would take on hardware that need not be here."""

from typing import Annotated

from fastapi import APIRouter, Body

from service.api.auth import Reader
from service.api.examples.planning import PREDICTIONS
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import prediction as reports
from service.reports.prediction import PredictionReport, PredictionRequest

router = APIRouter(prefix="/v1/predict", tags=["analysis"], route_class=ApiRoute)


@router.post("")
def predict_point(
    request: Annotated[PredictionRequest, Body(openapi_examples=PREDICTIONS)],
    service: ServiceDep,
    caller: Reader,
) -> PredictionReport:
    """Step time of one point, its band, and what it rests on; nothing is measured."""
    del caller
    with service.sessions.reading() as session:
        return reports.predict(session, request)
