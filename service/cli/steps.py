import time

from rich.console import Console

from service.cli.terminal import say


class Steps:
    """Says what is being done, with the seconds since the start."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Since the start."""
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        """One step."""
        say(self.console, f"[{self.elapsed_s:5.1f} s] {text}")
