"""Commands that run the server part. It is imported when one is used; without the extra they say what to install."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from toolbus.cli.options import Output
from toolbus.cli.output import Column, Format, show_table, show_value
from toolbus_contracts.egress import parse_allowances
from toolbus_contracts.errors import ToolbusError

EMBEDDED = "toolbus.embedded"
bus = typer.Typer(help="The bus: declare its streams.", no_args_is_help=True)
Nats = Annotated[str | None, typer.Option("--nats", metavar="URL", help="A NATS server that runs already.")]
Database = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="sqlite:///PATH or postgresql://… instead of the data folder."),
]


class MissingExtra(ToolbusError):
    """The server part, or something that it needs, is not installed."""

    def __init__(self, module: str) -> None:
        super().__init__("unavailable", f"this needs the server part, and {module} is not installed")
        self.next_step = 'Install it: pip install "toolbus[server]"'


class MissingSource(ToolbusError):
    """The bench is no part of the installed package."""

    def __init__(self) -> None:
        super().__init__("unavailable", "the bench is not installed: it belongs to the source tree")
        self.next_step = "Run it in a checkout of the source: make bench"


def server_part(module: str) -> Any:  # noqa: ANN401 - a module of another part
    """Import a module of the server part, or tell which extra is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or module) from error


def up(
    *,
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="The data folder.")] = Path(".toolbus"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="HTTP; 0 takes a free one.")] = 8700,
    nats_port: Annotated[int, typer.Option("--nats-port", min=0, max=65535, help="NATS; 0 takes a free one.")] = 4222,
    database: Database = None,
    nats: Nats = None,
    processes: Annotated[bool, typer.Option("--processes", help="One process for each service.")] = False,
    allow_egress: Annotated[
        str,
        typer.Option(
            "--allow-egress",
            metavar="LIST",
            help="What calls may reach although the guard refuses it: host[:port], *.suffix, CIDR.",
        ),
    ] = "",
) -> None:
    """Run everything on this machine until Ctrl-C: embedded NATS, SQLite, all services."""
    from toolbus.options import UpOptions

    parse_allowances(allow_egress)  # what is wrong with it is told before anything starts
    options = UpOptions(
        data=data,
        port=port,
        nats_port=nats_port,
        database=database,
        nats=nats,
        processes=processes,
        allow_egress=allow_egress,
    )
    raise typer.Exit(server_part(EMBEDDED).up(options))


def serve(
    *,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The service: dispatcher, api_caller, approvals or integrations.")
    ],
) -> None:
    """Run one service, as containers do."""
    raise typer.Exit(server_part(EMBEDDED).serve(name))


def migrate(*, database: Database = None) -> None:
    """Bring the database to the newest schema."""
    raise typer.Exit(server_part(EMBEDDED).migrate(database))


def demo() -> None:
    """Run calls of every kind against local targets, show the timeline, verify the log."""
    raise typer.Exit(server_part("toolbus.demo").run())


def bench(context: typer.Context) -> None:
    """Measure the numbers of the design; needs the source tree. Options are those of `python -m bench`."""
    try:
        measure = import_module("bench.__main__")
    except ModuleNotFoundError as error:
        is_ours = (error.name or "").partition(".")[0] == "bench"
        raise (MissingSource() if is_ours else MissingExtra(error.name or "a module")) from error
    raise typer.Exit(measure.main(context.args))


@bus.command("declare")
def declare(*, nats: Nats = None) -> None:
    """Declare every stream and consumer on a NATS server, as deployment does."""
    raise typer.Exit(server_part(EMBEDDED).declare(nats))


def show_settings(output: Output) -> None:
    """List every setting: the environment variable, its default, what it says."""
    settings = server_part(EMBEDDED).settings()
    if output is not Format.table:
        show_value([vars(setting) for setting in settings], output)
        return
    columns: list[Column[Any]] = [
        Column("VARIABLE", lambda setting: setting.variable),
        Column("DEFAULT", lambda setting: setting.default, may_shrink=True),
        Column("WHAT", lambda setting: setting.description, may_fold=True),
    ]
    show_table(settings, columns)
