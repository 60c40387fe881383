"""`toolbus stored`: setup and arguments that calls of a tool need not bring."""

from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Url
from toolbus.cli.output import Column, note, show_fields, show_items, show_one, show_page
from toolbus.cli.text import json_text, printable

if TYPE_CHECKING:
    from toolbus_contracts.stored import Level, StoredView

app = typer.Typer(help="Stored values: setup and arguments that calls need not bring.", no_args_is_help=True)
Tool = Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")]
For = Annotated[
    str,
    typer.Option("--for", metavar="LEVEL:ID", help="session:ID, task:ID, user:ID, agent:ID, or tenant for all calls."),
]
LevelOnly = Annotated[str | None, typer.Option("--level", help="Only those of session, task, user, agent or tenant.")]
OF_ALL = "tenant"


@app.command("set")
def set_(
    *,
    tool: Tool,
    whose: For = OF_ALL,
    setup: Annotated[
        str | None,
        typer.Option("--setup", help="JSON, @FILE, or - for stdin. Texts secret://NAME are references to secrets."),
    ] = None,
    args: Annotated[str | None, typer.Option("--args", help="Arguments as JSON, @FILE, or - for stdin.")] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Store setup and arguments for a tool, in place of those before."""
    from toolbus.cli.arguments import read_object

    level, level_id = _place(whose)
    values, arguments = read_object(setup, "--setup"), read_object(args, "--args")
    with connected(url) as client:
        stored = client.stored.put(tool, setup=values, arguments=arguments, level=level, level_id=level_id)
        show_one(stored, output, lambda one: note(f"Stored for {printable(one.tool)} at {_whose(one)}."))


@app.command("show")
def show(*, tool: Tool, whose: For = OF_ALL, output: Output = TABLE, url: Url = None) -> None:
    """Show what is stored for a tool at one level."""
    level, level_id = _place(whose)
    with connected(url) as client:
        show_one(client.stored.get(tool, level=level, level_id=level_id), output, _show)


@app.command("ls")
def ls(
    *,
    level: LevelOnly = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Only those of this tool.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: All = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List what is stored, the newest first."""
    from toolbus.client.requests.stored import list_stored

    columns: list[Column[StoredView]] = [
        Column("TOOL", lambda one: one.tool),
        Column("FOR", _whose),
        Column("SETUP", lambda one: ",".join(one.setup), may_shrink=True),
        Column("ARGUMENTS", lambda one: ",".join(one.arguments), may_shrink=True),
    ]
    wanted = cast("Level | None", level)
    with connected(url) as client:
        if every:
            show_items(client.stored.list(level=wanted, tool=tool), output, columns)
        else:
            show_page(client.fetch(list_stored(wanted, tool, limit, cursor)), output, columns)


@app.command("rm")
def rm(*, tool: Tool, whose: For = OF_ALL, url: Url = None) -> None:
    """Store nothing for a tool at one level any more."""
    level, level_id = _place(whose)
    with connected(url) as client:
        stored = client.stored.remove(tool, level=level, level_id=level_id)
    note(f"Nothing is stored for {printable(tool)} at {_whose(stored)} any more.")


def _place(whose: str) -> "tuple[Level, str]":
    """Level and id of what `--for` names."""
    from toolbus_contracts.stored import OF_TENANT, Level

    level, _, level_id = whose.partition(":")
    if level not in get_args(Level):
        raise typer.BadParameter(f"{whose!r} is none of {', '.join(get_args(Level))}", param_hint="--for")
    if level != OF_ALL and not level_id:
        raise typer.BadParameter(f"whose {level} is meant? {level}:ID", param_hint="--for")
    return cast("Level", level), level_id or OF_TENANT


def _whose(stored: "StoredView") -> str:
    return stored.level if stored.level == OF_ALL else f"{stored.level}:{stored.level_id}"


def _show(stored: "StoredView") -> None:
    show_fields(
        (
            ("tool", stored.tool),
            ("for", _whose(stored)),
            ("setup", json_text(stored.setup, 2) if stored.setup else None),
            ("arguments", json_text(stored.arguments, 2) if stored.arguments else None),
        )
    )
