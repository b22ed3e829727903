"""What Ray is told before its library is loaded."""

from pathlib import Path

from service.dispatch.environment import MARK, ray_environment
from service.settings import Settings


def environment(current: dict[str, str], *, address: str = "local") -> dict[str, str]:
    settings = Settings(home=Path("/h"), ray_address=address)
    return ray_environment(current, settings, mark="m")


def test_our_own_ray_wants_a_token_from_our_own_home_and_reports_to_nobody() -> None:
    made = environment({"PATH": "/bin"})
    assert made["RAY_AUTH_MODE"] == "token"
    assert made["RAY_AUTH_TOKEN_PATH"] == "/h/ray_token"  # noqa: S105 - a path
    assert made["RAY_USAGE_STATS_ENABLED"] == "0"
    assert (made["PATH"], made[MARK]) == ("/bin", "m")


def test_our_own_ray_is_not_led_astray_to_another_cluster() -> None:
    assert "RAY_ADDRESS" not in environment({"RAY_ADDRESS": "elsewhere:6379"})


def test_a_cluster_that_is_joined_keeps_its_own_token() -> None:
    made = environment({"RAY_ADDRESS": "a:1"}, address="a:1")
    assert "RAY_AUTH_MODE" not in made
    assert made["RAY_ADDRESS"] == "a:1"


def test_what_the_operator_set_stands() -> None:
    made = environment({"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": "t"})
    assert made["RAY_AUTH_MODE"] == "disabled"
    assert "RAY_AUTH_TOKEN_PATH" not in made
