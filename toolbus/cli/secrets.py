"""`toolbus secrets`: values that tools use by name; no command shows one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Url
from toolbus.cli.output import Column, note, show_items, show_one, show_page
from toolbus.cli.server import Database, server_part
from toolbus.cli.text import age, printable

if TYPE_CHECKING:
    from toolbus_contracts.secrets import SecretView

app = typer.Typer(help="Secrets: values that tools use by name, as secret://NAME.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The secret's name.")]


@app.command("set")
def set_(
    *,
    name: Name,
    value_file: Annotated[
        Path | None,
        typer.Option("--value-file", metavar="PATH", help="A file with the value; without it stdin is read."),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="It is sent to this host only: name, *.suffix, either with :port. Repeatable."),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", help="Only calls of this tool use it, or what concerns mcp:SERVER. Repeatable."),
    ] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Store a value under a name, its next generation if there is one. One line end behind the value is left out."""
    value = _value(value_file)
    with connected(url) as client:
        show_one(client.secrets.put(name, value, hosts=host or (), tools=tool or ()), output, _told)


@app.command("ls")
def ls(
    *, limit: Limit = 50, cursor: Cursor = None, every: All = False, output: Output = TABLE, url: Url = None
) -> None:
    """List the secrets: everything but their values."""
    from toolbus.client.requests.secrets import list_secrets

    columns: list[Column[SecretView]] = [
        Column("SECRET", lambda secret: secret.name),
        Column("GENERATION", lambda secret: secret.generation),
        Column("AGE", lambda secret: age(secret.stored_at)),
        Column("HOSTS", lambda secret: ",".join(secret.hosts) or "any", may_shrink=True),
        Column("TOOLS", lambda secret: ",".join(secret.tools) or "any", may_shrink=True),
    ]
    with connected(url) as client:
        if every:
            show_items(client.secrets.list(), output, columns)
        else:
            show_page(client.fetch(list_secrets(limit, cursor)), output, columns)


@app.command("rm")
def rm(*, name: Name, url: Url = None) -> None:
    """Let nothing use a secret any more."""
    with connected(url) as client:
        client.secrets.remove(name)
    note(f"Secret {printable(name)} is removed.")


@app.command("rotate-key")
def rotate_key(
    *,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="PATH", help="The file of master keys; else TOOLBUS_SECRETS_KEY[_FILE]."),
    ] = None,
    database: Database = None,
) -> None:
    """Seal every secret with the first master key, in the database itself. Broken off, it goes on where it was."""
    raise typer.Exit(server_part("toolbus.rotation").rotate(key_file, database))


def _value(path: Path | None) -> str:
    """A value from a file, from stdin, or typed unseen: on the command line everybody on the machine could read it."""
    if path is None and sys.stdin.isatty():
        typed: str = typer.prompt("Value", hide_input=True, err=True)
        return typed
    try:
        text = sys.stdin.read() if path is None else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter("cannot be read as UTF-8", param_hint=str(path or "stdin")) from error
    return text.removesuffix("\n").removesuffix("\r")


def _told(secret: "SecretView") -> None:
    note(f"Secret {printable(secret.name)} is stored, generation {secret.generation}.")
