"""The files that pages load."""

from fastapi import APIRouter
from starlette.responses import Response

from service.errors import NotFoundError
from service.pages.house import HouseDep
from service.pages.route import PageRoute
from service.pages.visitor import AnyVisitor

router = APIRouter(route_class=PageRoute)

FOR_A_YEAR = {"Cache-Control": "public, max-age=31536000, immutable"}


@router.get("/static/{name}")
def static_file(name: str, house: HouseDep, visitor: AnyVisitor, v: str = "") -> Response:
    """One file; its address changes with its content."""
    del visitor, v
    asset = house.assets.by_name.get(name)
    if asset is None:
        raise NotFoundError(f"there is no file {name!r}")
    return Response(asset.content, media_type=asset.media_type, headers=FOR_A_YEAR)
