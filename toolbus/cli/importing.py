"""`toolbus tools import`: tools of what others describe."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import typer

from toolbus.cli.connection import connected, progressing
from toolbus.cli.options import TABLE, Output, Scope, Url
from toolbus.cli.output import Column, note, show_items, write
from toolbus.cli.text import printable

if TYPE_CHECKING:
    from toolbus.client import Client
    from toolbus.importing.openapi import Left, Made
    from toolbus.importing.told import ImportedOperation

app = typer.Typer(help="Make tools of what others describe.", no_args_is_help=True)
MAX_REASON_CHARS = 500
MAX_PREFIX_CHARS = 40


@app.command("openapi")
def openapi(
    *,
    source: Annotated[str, typer.Argument(metavar="FILE|URL", help="An OpenAPI document, 3.0 or 3.1, JSON or YAML.")],
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only operations with this tag; repeatable.")] = None,
    operation: Annotated[
        list[str] | None, typer.Option("--operation", metavar="ID", help="Only this one, or 'GET /path'; repeatable.")
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", help="Put before the names of tools and secrets.")] = "",
    server: Annotated[
        str | None, typer.Option("--server", metavar="URL", help="Where to call, whatever the document says.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the definitions as YAML; register nothing.")
    ] = False,
    scope: Scope = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Make a tool of each operation of an OpenAPI document; exit code 1 when none became one."""
    from toolbus.importing.documents import read_document
    from toolbus.importing.openapi import Made, tools_of
    from toolbus.importing.operations import chosen, operations_of

    _check(prefix, server)
    document = read_document(source)
    wanted = chosen(operations_of(document, prefix), tag or (), operation or ())
    found = list(tools_of(document, wanted, server=server, secret_prefix=prefix))
    if dry_run:
        _print(found)
        count = sum(isinstance(one, Made) for one in found)
    else:
        with connected(url) as client:
            rows = [_applied(client, one, scope) for one in progressing(found, "importing", len(found))]
        show_items(rows, output, _columns())
        count = sum(row.tool is not None for row in rows)
    _tell_secrets(found)
    if not count:
        note("No operation became a tool.")
        raise typer.Exit(1)


def _check(prefix: str, server: str | None) -> None:
    if len(prefix) > MAX_PREFIX_CHARS:
        raise typer.BadParameter(f"at most {MAX_PREFIX_CHARS} characters", param_hint="--prefix")
    if server is not None and not server.startswith(("http://", "https://")):
        raise typer.BadParameter(f"{server!r} is no http or https URL", param_hint="--server")


def _print(found: "Iterable[Made | Left]") -> None:
    """Print the definitions as they can be applied later; what is left out, and why, goes to stderr."""
    from toolbus.definitions import to_yaml
    from toolbus.importing.openapi import Made

    is_first = True
    for one in found:
        if isinstance(one, Made):
            write(("" if is_first else "---\n") + to_yaml(one.definition))
            is_first = False
        for told in one.notes if isinstance(one, Made) else (f"skipped: {one.reason}",):
            note(printable(f"{one.operation.method} {one.operation.path}: {told}"), "dim")


def _applied(client: "Client", one: "Made | Left", scope: str | None) -> "ImportedOperation":
    """Register one; a definition that the server refuses does not stop the others."""
    from toolbus.client.failures import Invalid
    from toolbus.importing.openapi import Left

    if isinstance(one, Left):
        return _row(one, "skipped", (one.reason,))
    try:
        tool = client.tools.apply(one.definition, scope=scope)
    except Invalid as error:
        told = "; ".join([error.message, *(f"{fault.path}: {fault.message}" for fault in error.faults[:3])])
        return _row(one, "refused", (told[:MAX_REASON_CHARS],))
    return _row(one, tool.outcome, one.notes, tool=tool.name, version=tool.version)


def _row(
    one: "Made | Left",
    outcome: Literal["created", "updated", "unchanged", "refused", "skipped"],
    notes: tuple[str, ...],
    *,
    tool: str | None = None,
    version: int | None = None,
) -> "ImportedOperation":
    from toolbus.importing.told import ImportedOperation

    return ImportedOperation(
        operation=one.operation.id,
        method=one.operation.method,
        path=one.operation.path,
        outcome=outcome,
        tool=tool,
        version=version,
        notes=notes,
    )


_STYLES = {"created": "green", "updated": "green", "refused": "red", "skipped": "yellow"}


def _columns() -> "list[Column[ImportedOperation]]":
    return [
        Column("TOOL", lambda row: row.tool or "-"),
        Column("OUTCOME", lambda row: row.outcome, style=lambda row: _STYLES.get(row.outcome, "dim")),
        Column("OPERATION", lambda row: f"{row.method} {row.path}", may_shrink=True),
        Column("NOTES", lambda row: "; ".join(row.notes), may_fold=True),
    ]


def _tell_secrets(found: "Iterable[Made | Left]") -> None:
    """Say which secrets the tools refer to, what each must hold, and to which hosts it goes."""
    from toolbus.importing.openapi import Made

    needed: dict[tuple[str, str], dict[str, None]] = {}
    for one in found:
        if isinstance(one, Made):
            host = urlsplit(one.definition["api_call"]["url"]).netloc
            for name, holds in one.secrets.items():
                needed.setdefault((name, holds), {})[host] = None
    for (name, holds), hosts in needed.items():
        bound = " ".join(f"--host {host}" for host in hosts)
        note(printable(f"secret://{name} is {holds}: toolbus secrets set {name} {bound}"))
