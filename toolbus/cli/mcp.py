"""`toolbus mcp`: MCP servers, and tools that are made of theirs."""

from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected, progressing
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Scope, Url
from toolbus.cli.output import Column, note, show_fields, show_items, show_one, show_page, write
from toolbus.cli.text import age, printable

if TYPE_CHECKING:
    from toolbus.client import Client
    from toolbus.importing.told import ImportedTool
    from toolbus_contracts.mcp import Hints, McpServerView, McpToolView
    from toolbus_contracts.values import Json

app = typer.Typer(help="MCP servers, and tools that are made of theirs.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="SERVER", help="The server's name.")]
MAX_DESCRIPTION_CHARS = 4096
MAX_REASON_CHARS = 500


@app.command("add")
def add(
    *,
    name: Name,
    server_url: Annotated[
        str | None, typer.Option("--server-url", metavar="URL", help="Where it speaks streamable HTTP.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="NAME=VALUE", help="Sent along; secret://NAME. Repeatable.")
    ] = None,
    bearer: Annotated[
        str | None, typer.Option("--bearer", metavar="secret://NAME", help="Sent as Authorization: Bearer.")
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Option("--command", metavar="WORD", help="Run it instead: the command, word for word. Repeatable."),
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="Handed to the command. Repeatable.")
    ] = None,
    pin: Annotated[str, typer.Option("--pin", help="What must be as it was defined: pin, names or off.")] = "pin",
    timeout_s: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long a call may take.")] = 30.0,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Speak to an MCP server under a name from now on, or in another way than so far."""
    words = command or []
    settings: dict[str, object] = {
        "transport": "stdio" if words else "http",
        "url": server_url,
        "headers": _pairs(header, "--header"),
        "bearer": bearer,
        "command": words[0] if words else None,
        "args": words[1:],
        "env": _pairs(env, "--env"),
        "pin": pin,
        "timeout_s": timeout_s,
    }
    with connected(url) as client:
        show_one(
            client.mcp.put(name, {key: value for key, value in settings.items() if value not in (None, [], {})}),
            output,
            _told,
        )


@app.command("ls")
def ls(
    *, limit: Limit = 50, cursor: Cursor = None, every: All = False, output: Output = TABLE, url: Url = None
) -> None:
    """List the MCP servers."""
    from toolbus.client.requests.mcp import list_servers

    columns: list[Column[McpServerView]] = [
        Column("SERVER", lambda server: server.name),
        Column("TRANSPORT", lambda server: server.transport),
        Column("AT", _place, may_shrink=True),
        Column("PIN", lambda server: server.pin),
        Column("AGE", lambda server: age(server.stored_at)),
    ]
    with connected(url) as client:
        if every:
            show_items(client.mcp.list(), output, columns)
        else:
            show_page(client.fetch(list_servers(limit, cursor)), output, columns)


@app.command("show")
def show(*, name: Name, output: Output = TABLE, url: Url = None) -> None:
    """Show how a server is spoken to."""
    with connected(url) as client:
        show_one(client.mcp.get(name), output, _told)


@app.command("rm")
def rm(*, name: Name, url: Url = None) -> None:
    """Speak to a server no more; its tools stay registered, and their calls fail."""
    with connected(url) as client:
        client.mcp.remove(name)
    note(f"MCP server {printable(name)} is removed.")


@app.command("tools")
def tools(*, name: Name, output: Output = TABLE, url: Url = None) -> None:
    """Ask a server which tools it has, now. Its hints about their effects are claims of its own."""
    columns: list[Column[McpToolView]] = [
        Column("TOOL", lambda tool: tool.name),
        Column("HINTS", lambda tool: _hints(tool.hints)),
        Column("DESCRIPTION", lambda tool: tool.description, may_shrink=True),
    ]
    with connected(url) as client:
        show_items(client.mcp.tools(name).tools, output, columns)


@app.command("import")
def import_(
    *,
    name: Name,
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="Put before the names of its tools; SERVER_ if left out.")
    ] = None,
    tool: Annotated[list[str] | None, typer.Option("--tool", help="Only this one; repeatable.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the definitions as YAML; register nothing.")
    ] = False,
    scope: Scope = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Register the tools of a server; exit code 1 when none was. What it hints about effects is not trusted."""
    from toolbus_contracts.mcp import registered_names

    with connected(url) as client:
        found = [one for one in client.mcp.tools(name).tools if not tool or one.name in tool]
        names = registered_names(name, [one.name for one in found], prefix)
        if dry_run:
            _print([_definition(name, one, names[one.name]) for one in found])
            count = len(found)
        else:
            rows = [
                _applied(client, one, _definition(name, one, names[one.name]), scope)
                for one in progressing(found, "importing", len(found))
            ]
            show_items(rows, output, _columns())
            count = sum(row.outcome != "refused" for row in rows)
    if not count:
        note("No tool was imported.")
        raise typer.Exit(1)


def _applied(client: "Client", tool: "McpToolView", definition: "dict[str, Json]", scope: str | None) -> "ImportedTool":
    """Register one; a tool that is refused does not stop the others."""
    from toolbus.client.failures import Invalid
    from toolbus.importing.told import ImportedTool

    name, hints = definition["name"], _hints(tool.hints)
    try:
        done = client.tools.apply(definition, scope=scope)
    except Invalid as error:
        told = "; ".join([error.message, *(f"{fault.path}: {fault.message}" for fault in error.faults[:3])])
        return ImportedTool(tool=tool.name, name=name, outcome="refused", hints=hints, reason=told[:MAX_REASON_CHARS])
    return ImportedTool(tool=tool.name, name=name, outcome=done.outcome, version=done.version, hints=hints)


def _definition(server: str, tool: "McpToolView", name: str) -> "dict[str, Json]":
    """The definition of a tool; its schemas come from the server when it is registered."""
    described = tool.description or tool.title or ""
    about = {"description": described[:MAX_DESCRIPTION_CHARS]} if described else {}
    return {"name": name, **about, "type": "mcp", "mcp": {"server": server, "tool": tool.name}}


def _print(definitions: "list[dict[str, Json]]") -> None:
    from toolbus.definitions import to_yaml

    write("---\n".join(to_yaml(definition) for definition in definitions))


def _columns() -> "list[Column[ImportedTool]]":
    return [
        Column("TOOL", lambda row: row.tool),
        Column("REGISTERED AS", lambda row: row.name),
        Column("OUTCOME", lambda row: row.outcome, style=lambda row: "red" if row.outcome == "refused" else "green"),
        Column("HINTS", lambda row: row.hints),
        Column("WHY", lambda row: row.reason, may_shrink=True),
    ]


def _hints(hints: "Hints") -> str:
    """What the server claims, in words; nothing when it claims nothing."""
    words = {
        "reads": hints.read_only,
        "destroys": hints.destructive,
        "repeatable": hints.idempotent,
        "reaches outside": hints.open_world,
    }
    return ", ".join(word if claimed else f"not: {word}" for word, claimed in words.items() if claimed is not None)


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """Names and values as they were given; the first `=` divides them."""
    found = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint=option)
        found[name] = value
    return found


def _place(server: "McpServerView") -> str:
    return server.url or " ".join(server.argv)


def _told(server: "McpServerView") -> None:
    show_fields(
        [
            ("server", server.name),
            ("transport", server.transport),
            ("at", _place(server)),
            ("headers", ", ".join(f"{name}={value}" for name, value in server.headers.items())),
            ("bearer", server.bearer),
            ("env", ", ".join(f"{name}={value}" for name, value in server.env.items())),
            ("pin", server.pin),
            ("timeout", f"{server.timeout_s:g} s"),
            ("stored", age(server.stored_at)),
        ]
    )
