from pathlib import Path

import pytest
from pydantic import ValidationError

from service.settings import Settings


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"TPSWEEP_{name.upper()}", raising=False)


def test_every_setting_comes_from_the_environment_with_one_prefix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TPSWEEP_PORT", "9000")
    monkeypatch.setenv("TPSWEEP_CPU_DEVICES", "2")
    assert (Settings().port, Settings().cpu_devices) == (9000, 2)


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPSWEEP_CPU_DEVICES", "")
    assert Settings().cpu_devices is None


def test_the_database_is_a_file_in_the_home_unless_given(tmp_path: Path) -> None:
    assert Settings(home=tmp_path).database == f"sqlite:///{tmp_path}/tpsweep.sqlite3"


def test_the_home_of_the_user_is_filled_in() -> None:
    assert Settings().home == Path.home() / ".local/share/tpsweep"


@pytest.mark.parametrize("password", ["pw", "p:w", "p@w", "p/w%40"])
def test_a_password_is_never_shown(password: str) -> None:
    url = f"postgresql://me:{password}@db.example:5432/x"
    settings = Settings.model_validate({"database_url": url})
    assert settings.database == url
    assert password not in settings.database_shown
    assert password not in repr(settings)
    assert "db.example" in settings.database_shown


def test_clients_find_the_api_where_it_listens_by_default() -> None:
    assert Settings(host="::1", port=80).client_url == "http://[::1]:80"
    assert Settings(url="https://sweeps.example/").client_url == "https://sweeps.example"


@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1"])
def test_times_are_finite_and_positive(value: str) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate({"lease_ttl_s": value})
