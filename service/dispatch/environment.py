"""What Ray is told through the environment. Pure.

Ray reads most of it when its library is loaded, and hands it on to the processes it starts.
"""

from collections.abc import Mapping

from service.settings import Settings

LOCAL = "local"
MARK = "TPSWEEP_RAY_MARK"
"""Inherited by every process of our own Ray, so that they can be found whatever becomes of us."""

_ALWAYS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "30",
}
_OF_OUR_OWN = {
    "RAY_AUTH_MODE": "token",
    "RAY_health_check_initial_delay_ms": "5000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "5",
    "RAY_prestart_worker_first_driver": "0",  # idle workers for every core, which nobody asks for
    # Ray runs its workers at niceness 15, where anything else on the host takes their core.
    "RAY_worker_niceness": "0",
}


def token_path(settings: Settings) -> str:
    """File of the token of our own Ray; nothing lands in the user's HOME."""
    return str(settings.home / "ray_token")


def ray_environment(current: Mapping[str, str], settings: Settings, *, mark: str) -> dict[str, str]:
    """The whole environment with what Ray needs. What the operator set stands."""
    wanted = dict(_ALWAYS)
    kept = dict(current)
    if settings.ray_address == LOCAL:
        wanted |= _OF_OUR_OWN
        if "RAY_AUTH_TOKEN" not in current:
            wanted["RAY_AUTH_TOKEN_PATH"] = token_path(settings)
        kept.pop("RAY_ADDRESS", None)  # it would make us join somebody else's
    return {**wanted, **kept, MARK: mark}
