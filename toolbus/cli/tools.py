"""`toolbus tools`: registering definitions and looking at them."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli import importing
from toolbus.cli.connection import connected, progressing
from toolbus.cli.options import TABLE, All, Context, Cursor, Limit, Output, Scope, Url, context_of
from toolbus.cli.output import Column, Format, note, show_items, show_one, show_page, show_value, write
from toolbus.cli.text import printable, printable_lines, time_of_day
from toolbus_contracts.errors import ToolbusError

if TYPE_CHECKING:
    from toolbus.client.views import AppliedTool
    from toolbus.definitions import Written
    from toolbus_contracts.tools import ToolView

app = typer.Typer(help="Tool definitions: register, look at, compare, retire.", no_args_is_help=True)
app.add_typer(importing.app, name="import")
Files = Annotated[list[str], typer.Argument(metavar="FILE…", help="YAML or JSON files; - is standard input.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.")]


@app.command("apply")
def apply(*, files: Files, scope: Scope = None, output: Output = TABLE, url: Url = None) -> None:
    """Register every definition of the files; what says nothing new stays as it is."""
    written = _read(files)
    with connected(url) as client:
        applied: list[AppliedTool] = []
        for item in progressing(written, "applying", len(written)):
            try:
                applied.append(client.tools.apply(item.definition, scope=scope))
            except ToolbusError as error:
                before = f" ({len(applied)} before it applied)" if applied else ""
                error.message = f"{item.place}: {error.message}{before}"
                raise
    columns: list[Column[AppliedTool]] = [
        Column("TOOL", lambda tool: tool.name),
        Column("VERSION", lambda tool: tool.version),
        Column(
            "OUTCOME", lambda tool: tool.outcome, style=lambda tool: "dim" if tool.outcome == "unchanged" else "green"
        ),
        Column("HASH", lambda tool: tool.definition_hash, may_shrink=True),
    ]
    show_items(applied, output, columns)


@app.command("ls")
def ls(
    *,
    scope: Scope = None,
    shape: Annotated[
        str | None, typer.Option("--format", help="As JSON for a model's API: openai, anthropic or mcp.")
    ] = None,
    context: Context = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: All = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List the tools that can be called; --context hides from a model what is stored already."""
    from toolbus.client.requests.tools import list_tools

    whose = context_of(context)
    if whose and shape is None:
        raise typer.BadParameter("it changes only what a model reads: give --format too", param_hint="--context")
    with connected(url) as client:
        if shape is not None:
            for tool in client.tools.formatted(shape, scope=scope, context=whose):
                show_value(tool, Format.jsonl)
        elif every:
            show_items(client.tools.list(scope=scope), output, _columns())
        else:
            show_page(client.fetch(list_tools(scope, limit, cursor)), output, _columns())


@app.command("show")
def show(*, name: Name, scope: Scope = None, output: Output = TABLE, url: Url = None) -> None:
    """Show a tool, or NAME@VERSION, as it can be applied again."""
    with connected(url) as client:
        show_one(client.tools.get(name, scope=scope), output, _show)


@app.command("versions")
def versions(*, name: Name, scope: Scope = None, output: Output = TABLE, url: Url = None) -> None:
    """List every version of a tool."""
    with connected(url) as client:
        show_items(client.tools.versions(name, scope=scope), output, _columns())


@app.command("rm")
def rm(*, name: Name, scope: Scope = None, url: Url = None) -> None:
    """Retire a tool: it takes no new calls, its history stays readable."""
    with connected(url) as client:
        client.tools.retire(name, scope=scope)
    note(f"{printable(name)} is retired; apply its definition again to bring it back.")


@app.command("diff")
def diff(*, files: Files, scope: Scope = None, url: Url = None) -> None:
    """Show what applying the files would change; exit code 1 when there is something."""
    from toolbus.client.failures import NotFound
    from toolbus.definitions import difference

    changed = False
    with connected(url) as client:
        for item in _read(files):
            wanted = _as_registered(item)
            try:
                tool = client.tools.get(item.name, scope=scope)
            except NotFound:
                told = difference(None, wanted, name=item.name, version=None)
            else:
                told = difference(tool.definition, wanted, name=item.name, version=tool.version)
            if told:
                changed = True
                write(printable_lines(told) + "\n")
    raise typer.Exit(1 if changed else 0)


def _read(files: list[str]) -> "list[Written]":
    """Read every file before anything is sent, so that a mistake in the last one changes nothing."""
    from toolbus.definitions import read_definitions

    def tell(text: str) -> None:
        note(printable(text), "dim")

    return [item for path in files for item in read_definitions(path, sys.stdin.buffer.read, tell)]


def _as_registered(item: "Written") -> object:
    """Write a definition as the server shows it: its type filled in, defaults included."""
    from pydantic import ValidationError

    from toolbus_contracts.errors import Fault, Unreadable
    from toolbus_contracts.tools import ToolDefinition
    from toolbus_contracts.values import fault_message, pointer

    try:
        definition = ToolDefinition.model_validate(item.definition)
    except ValidationError as error:
        faults = tuple(
            Fault(pointer(*found["loc"]), fault_message(found["type"], found["msg"])) for found in error.errors()
        )
        raise Unreadable("invalid_definition", f"{item.place}: the definition is not valid", faults) from error
    return definition.model_dump(mode="json", by_alias=True, exclude_none=True)


def _columns() -> "list[Column[ToolView]]":
    return [
        Column("TOOL", lambda tool: tool.name),
        Column("VERSION", lambda tool: tool.version),
        Column("TYPE", lambda tool: tool.type),
        Column("EFFECT", lambda tool: f"{tool.contract.effect}, {tool.contract.idempotency}"),
        Column("DESCRIPTION", lambda tool: tool.description, may_shrink=True),
    ]


def _show(tool: "ToolView") -> None:
    from toolbus.definitions import to_yaml

    vouched = "" if tool.contract.is_asserted else " (nobody vouched for it)"
    write(
        f"# version {tool.version} of {printable(tool.name)} in {printable(tool.scope)}, "
        f"{time_of_day(tool.defined_at)}\n"
    )
    write(f"# {printable(tool.definition_hash)}\n")
    write(f"# effect: {tool.contract.effect}, idempotency: {tool.contract.idempotency}{vouched}\n")
    if tool.retired_at is not None:
        write(f"# retired {time_of_day(tool.retired_at)}\n")
    write(printable_lines(to_yaml(tool.definition).rstrip("\n")) + "\n")
