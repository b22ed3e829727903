import json
import sys
import threading

from rich.console import Console
from rich.text import Text

from service.cli.escaping import printable
from service.cli.supervise.child import Report

STYLES = {"tpsweep": "bold", "api": "cyan", "dispatcher": "magenta"}
WIDTH = max(map(len, STYLES))


def narrator(*, as_json: bool) -> Report:
    """Merge what several processes say into one readable stream, or into JSON lines."""
    lock = threading.Lock()
    console = Console(highlight=False, soft_wrap=True)

    def write_json(source: str, line: str) -> None:
        with lock:
            sys.stdout.write(json.dumps({"source": source, "message": line}) + "\n")
            sys.stdout.flush()

    def write_text(source: str, line: str) -> None:
        name = Text(f"{source:<{WIDTH}} | ", style=STYLES.get(source, ""))
        with lock:
            console.print(name.append(printable(line), style="default"))

    return write_json if as_json else write_text
