"""One Chromium for all tests of a module, and pages that remember what they asked for and said."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.browser.sites import Site, site

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_MS = 30_000
AXE = Path(__file__).parent / "vendor" / "axe.js"
SERIOUS = {"serious", "critical"}


@dataclass  # playwright writes into its listeners
class Witness:
    """What a page did beside what it showed."""

    address: str
    complaints: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Statuses above 399 that a test may expect."""

    def watch(self, page: Page) -> None:
        """Listen to everything."""
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._asked)
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "warning"}:
            return
        kept = self.refused if "Failed to load resource" in message.text else self.complaints
        kept.append(f"{message.text} at {message.location}")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.address).netloc:
            self.strangers.append(request.url)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's package; `deploy/test` installs it."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("no Chromium found; on Debian: apt-get install chromium")
    expect.set_options(timeout=PATIENCE_MS)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sites keep their files."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="module")
def open_site(home: Path, sqlite_template: Path) -> Iterator[Site]:
    """On this machine, without tokens."""
    with site(sqlite_template, home / "open") as served:
        yield served


@contextmanager
def opened(
    chromium: Browser,
    address: str,
    *,
    theme: Literal["light", "dark"] = "light",
    width: int = 1280,
    may_be_refused: bool = False,
) -> Iterator[Page]:
    """A window of its own; at its end nothing may have gone wrong, or elsewhere."""
    context = chromium.new_context(
        base_url=address,
        color_scheme=theme,
        viewport={"width": width, "height": 900},
        timezone_id="Asia/Kolkata",
        locale="en-GB",
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    witness = Witness(address)
    witness.watch(page)
    try:
        yield page
    finally:
        context.close()
    assert witness.complaints == []
    assert witness.strangers == []
    assert may_be_refused or witness.refused == []


def serious_violations(page: Page) -> list[str]:
    """What axe-core finds that keeps people out."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]
