import typer

from service.cli.commands.up import supervise
from service.cli.configuration import load_settings
from service.cli.options import AsJson
from service.cli.supervise.narration import narrator
from service.cli.supervise.preparation import prepare_database, prepare_home
from service.cli.supervise.services import dispatcher, watch
from service.cli.supervise.supervisor import SUPERVISOR, Supervisor

app = typer.Typer()


@app.command()
def dispatch(*, as_json: AsJson = False) -> None:
    """Run only the dispatcher, beside an API elsewhere.

    It shares nothing with the API but the database, and is started again when it dies. Beside it
    runs the watch, which judges what schedules have measured.
    """
    settings = load_settings()
    report = narrator(as_json=as_json)
    prepare_home(settings)
    report(SUPERVISOR, f"database {prepare_database(settings)}; pool {settings.pool}")
    children = [dispatcher(settings), watch(settings)]
    supervise(Supervisor(children, report=report), report=report)
