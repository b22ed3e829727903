"""What every page is given: settings, transactions, who may come in, templates, files."""

from dataclasses import dataclass
from typing import Annotated, Self

from fastapi import Depends, Request
from jinja2 import Environment

from service.access.cookies import Cookies
from service.access.doors import Access
from service.pages.assets import Assets
from service.pages.rendering import environment
from service.settings import Settings
from service.store.engine import Sessions


@dataclass(frozen=True, slots=True)
class House:
    """Handed to every page; all of it can be rebuilt from settings and rows."""

    settings: Settings
    sessions: Sessions
    access: Access
    cookies: Cookies
    assets: Assets
    templates: Environment

    @classmethod
    def build(
        cls, settings: Settings, sessions: Sessions, *, access: Access, cookies: Cookies
    ) -> Self:
        """Read templates and files."""
        assets = Assets.read()
        return cls(settings, sessions, access, cookies, assets, environment(assets))


def house_of(request: Request) -> House:
    """The house that the request came to."""
    house: House = request.app.state.house
    return house


async def _given(request: Request) -> House:
    """As a dependency: not worth the thread that a plain function would be given."""
    return house_of(request)


HouseDep = Annotated[House, Depends(_given)]
