"""The command line put together: every command, and the one place where errors become exit codes."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from toolbus.cli import (
    calls,
    dead,
    delegations,
    doctor,
    executions,
    functions,
    grants,
    integrations,
    keys,
    mcp,
    schemas,
    secrets,
    server,
    stored,
    tail,
    tools,
    waits,
    webhooks,
)
from toolbus.cli.failures import INTERRUPTED, exit_code_of, tell, tell_interrupted
from toolbus.cli.output import Format, note, remember, silence
from toolbus.cli.text import printable
from toolbus_contracts.errors import ToolbusError

EPILOG = (
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 conflict, 6 integrity, "
    "69 unavailable, 75 try again, 130 interrupted."
)

app = typer.Typer(
    name="toolbus",
    help="Tool calls of language models, carried out exactly as asked.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(tools.app, name="tools")
app.add_typer(calls.app, name="calls")
app.add_typer(executions.app, name="exec")
app.add_typer(keys.app, name="keys")
app.add_typer(waits.app, name="waits")
app.add_typer(grants.app, name="grants")
app.add_typer(delegations.app, name="delegations")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(integrations.app, name="integrations")
app.add_typer(secrets.app, name="secrets")
app.add_typer(stored.app, name="stored")
app.add_typer(mcp.app, name="mcp")
app.add_typer(dead.app, name="dead")
app.add_typer(schemas.app, name="schemas")
app.add_typer(server.bus, name="bus")
app.command("call")(calls.call)
calls.app.command("complete")(functions.complete)
waits.app.command("lease")(functions.lease)
waits.app.command("heartbeat")(functions.heartbeat)
waits.app.command("release")(functions.release)
app.command("tail")(tail.tail)
app.command("doctor")(doctor.doctor)
app.command("up")(server.up)
app.command("serve")(server.serve)
app.command("migrate")(server.migrate)
app.command("demo")(server.demo)
app.command("bench", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(server.bench)


def _tell_version(is_wanted: bool) -> None:  # noqa: FBT001 - typer gives the flag by position
    if is_wanted:
        from toolbus.cli.output import write
        from toolbus.version import installed_version

        write(f"toolbus {installed_version()}\n")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Tell the version and end.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None:
    """Tool calls of language models, carried out exactly as asked."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and give its exit code."""
    remember(Format.table)  # until -o says otherwise
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter gets its escape
    try:
        result = typer.main.get_command(app).main(list(arguments), prog_name="toolbus", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
        return 0
    except ToolbusError as error:
        tell(error)
        return exit_code_of(error)
    except typer.TyperException as error:
        return _tell_usage(error)
    except typer.Abort:
        tell_interrupted()
        return INTERRUPTED
    if result == INTERRUPTED:
        tell_interrupted()
    return result if isinstance(result, int) else 0


def _tell_usage(error: typer.TyperException) -> int:
    said = " ".join(error.format_message().split()).replace(": Value error, ", ": ")
    if not said:
        return error.exit_code  # a group without a command: its help is shown already
    note(f"error: {printable(said)}", "red")
    context = getattr(error, "ctx", None)
    if context is not None:
        note(f"→ See: {context.command_path} --help", "cyan")
    return error.exit_code
