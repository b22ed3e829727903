"""Models that a sweep can name."""

from fastapi import APIRouter

from service.api.auth import Reader
from service.api.paging import Page
from service.api.route import ApiRoute
from workers.contract.frozen import Frozen
from workers.contract.presets import PRESETS
from workers.contract.shapes import ModelShape

router = APIRouter(prefix="/v1/models", tags=["models"], route_class=ApiRoute)


class ModelReport(Frozen):
    """A name that `models` of a sweep may hold, and what it stands for."""

    name: str
    shape: ModelShape
    source: str


@router.get("")
def list_models(caller: Reader) -> Page[ModelReport]:
    """The presets, each with where its figures are published."""
    del caller
    items = [
        ModelReport(name=name, shape=preset.shape, source=preset.source)
        for name, preset in PRESETS.items()
    ]
    return Page(items=items, next_cursor=None)
