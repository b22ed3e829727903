import signal
from types import FrameType
from typing import Annotated

import typer

from service.cli.configuration import load_settings
from service.cli.failures import CannotStartError
from service.cli.options import AsJson
from service.cli.supervise.child import Report
from service.cli.supervise.narration import narrator
from service.cli.supervise.preparation import (
    free_port,
    is_port_free,
    prepare_database,
    prepare_home,
)
from service.cli.supervise.services import api, dispatcher, watch
from service.cli.supervise.supervisor import SUPERVISOR, Supervisor
from service.settings import Settings

app = typer.Typer()


@app.command()
def up(
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on. [TPSWEEP_HOST]")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 takes a free one. [TPSWEEP_PORT]", min=0, max=65535)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the API, the dispatcher and the watch until Ctrl-C.

    Each is started again when it dies. An embedded database is brought up to date before.
    """
    settings = load_settings()
    settings = listening(settings, host=host, port=port)
    report = narrator(as_json=as_json)
    prepare_home(settings)
    report(SUPERVISOR, f"database {prepare_database(settings)}")
    report(SUPERVISOR, f"API at {settings.client_url}, its documentation at /docs; Ctrl-C stops")
    children = [api(settings), dispatcher(settings), watch(settings)]
    supervise(Supervisor(children, report=report), report=report)


def listening(settings: Settings, *, host: str | None, port: int | None) -> Settings:
    """Settings with the address of the command line, a free port for 0, and no port in use."""
    chosen_host = settings.host if host is None else host
    chosen_port = settings.port if port is None else port
    if chosen_port == 0:
        chosen_port = free_port(chosen_host)
    elif not is_port_free(chosen_host, chosen_port):
        raise CannotStartError(
            f"{chosen_host}:{chosen_port} cannot be listened on: in use, or not an address of this "
            "machine",
            "--port 0 or TPSWEEP_PORT chooses another; perhaps tpsweep runs already",
        )
    return settings.model_copy(update={"host": chosen_host, "port": chosen_port, "url": ""})


def supervise(supervisor: Supervisor, *, report: Report) -> None:
    """Run until a signal; a second one ends the patience.

    Raises CannotStartError when a child says that it cannot work as things are.
    """

    def on_signal(number: int, frame: FrameType | None) -> None:
        del frame
        report(SUPERVISOR, f"{signal.Signals(number).name}: stopping")
        supervisor.stop()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    supervisor.run()
    report(SUPERVISOR, "stopped")
    if supervisor.gave_up is not None:
        raise CannotStartError(f"the {supervisor.gave_up} cannot work as things are, see above")
