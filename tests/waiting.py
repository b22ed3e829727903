import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], *, within_s: float) -> float:
    """Look until it holds; how long it took."""
    began = time.monotonic()
    while not condition():
        took = time.monotonic() - began
        assert took < within_s, f"it did not come to that within {within_s} s"
        time.sleep(0.02)
    return time.monotonic() - began
