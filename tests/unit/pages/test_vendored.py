"""Files of others are as their list says, and come with their licences."""

import base64
import hashlib
from pathlib import Path

import pytest

from service.pages.assets import FOLDER, Assets

FOLDERS = [FOLDER / "vendor", Path(__file__).parents[2] / "browser" / "vendor"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parts[-2])
def test_each_file_has_the_listed_hash_and_a_licence(folder: Path) -> None:
    lines = (folder / "VERSIONS.tsv").read_text(encoding="utf-8").splitlines()[1:]
    listed = {name: digest for name, _, _, digest in (line.split("\t") for line in lines)}
    found = {path.name for path in folder.iterdir()} - {"VERSIONS.tsv"}
    assert found == {*listed, *(f"{name.partition('.')[0]}.LICENSE" for name in listed)}
    for name, digest in listed.items():
        content = (folder / name).read_bytes()
        actual = base64.b64encode(hashlib.sha384(content).digest()).decode()
        assert digest == f"sha384-{actual}", name


def test_only_files_for_browsers_are_served_and_their_address_changes_with_them() -> None:
    assets = Assets.read()
    assert {
        "pages.css",
        "pages.js",
        "charts.js",
        "history.js",
        "htmx.js",
        "uplot.js",
        "uplot.css",
        "icon.svg",
    } == set(assets.by_name)
    versions = [asset.version for asset in assets.by_name.values()]
    assert len(set(versions)) == len(versions)
