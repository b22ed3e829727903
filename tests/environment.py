"""What processes of tests and benchmarks may know of ours."""

import os


def without_settings() -> dict[str, str]:
    """Our environment, but for what points at somebody's service or database."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TPSWEEP_")}
