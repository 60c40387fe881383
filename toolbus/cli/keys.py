"""`toolbus keys`: making and revoking API keys."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Url
from toolbus.cli.output import Column, Format, as_json, note, show_items, show_page, show_value, write
from toolbus.cli.text import printable, time_of_day

if TYPE_CHECKING:
    from toolbus_contracts.keys import KeyView, Scope
    from toolbus_contracts.tools import Limits

Contexts = Annotated[
    list[str] | None,
    typer.Option("--context", help="Whose stored values its calls may name: user:ana, user:*. Repeatable."),
]
app = typer.Typer(help="API keys: make, list, revoke.", no_args_is_help=True)


@app.command("create")
def create(
    *,
    subject: Annotated[str, typer.Option("--subject", help="Whom it stands for: user:ana, service:crm.")],
    scope: Annotated[
        list[str], typer.Option("--scope", help="read, submit, work, approve, operate, audit or admin. Repeatable.")
    ],
    role: Annotated[list[str] | None, typer.Option("--role", help="A role of the subject. Repeatable.")] = None,
    tool: Annotated[list[str] | None, typer.Option("--tool", help="Only this tool may be called. Repeatable.")] = None,
    context: Contexts = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="TIME", help="30d, or RFC 3339.")] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="At most so many of its calls run at once.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="CALLS/SECONDS", help="At most so many of its calls begin: 100/60.")
    ] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Make a key. Its token is printed this one time."""
    from toolbus.cli.times import moment

    limits = _limits(concurrency, rate)
    until = moment(expires, "--expires", ahead=True)
    with connected(url) as client:
        made = client.keys.create(
            subject,
            cast("list[Scope]", scope),
            roles=role or (),
            tools=tool or None,
            contexts=context or (),
            expires_at=until,
            limits=limits,
        )
    if output is Format.table:
        write(f"{printable(made.token)}\n")
        ends = f", expires {time_of_day(made.expires_at)}" if made.expires_at else ""
        note(f"Key {printable(made.id)} for {printable(made.subject)}{ends}. The token is not shown again.")
    else:
        show_value(as_json(made), output)


def _limits(concurrency: int | None, rate: str | None) -> "Limits | None":
    from pydantic import ValidationError

    from toolbus_contracts.tools import Limits, Rate

    if concurrency is None and rate is None:
        return None
    calls, mark, per_s = (rate or "").partition("/")
    try:
        found = None if rate is None else Rate(calls=int(calls), per_s=float(per_s) if mark else 1.0)
        return Limits(concurrency=concurrency, rate=found)
    except (ValueError, ValidationError) as error:
        raise typer.BadParameter(f"{rate!r} is no CALLS/SECONDS such as 100/60", param_hint="--rate") from error


@app.command("ls")
def ls(
    *, limit: Limit = 50, cursor: Cursor = None, every: All = False, output: Output = TABLE, url: Url = None
) -> None:
    """List the keys, without their secrets."""
    from toolbus.client.requests.server import list_keys

    with connected(url) as client:
        if every:
            show_items(client.keys.list(), output, _columns())
        else:
            show_page(client.fetch(list_keys(limit, cursor)), output, _columns())


@app.command("revoke")
def revoke(*, key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id.")], url: Url = None) -> None:
    """Let a key open nothing any more."""
    with connected(url) as client:
        client.keys.revoke(key_id)
    note(f"Key {printable(key_id)} is revoked.")


def _columns() -> "list[Column[KeyView]]":
    return [
        Column("KEY", lambda key: key.id),
        Column("SUBJECT", lambda key: key.subject, may_shrink=True),
        Column("SCOPES", lambda key: ",".join(key.scopes), may_shrink=True),
        Column("STATE", _state, style=lambda key: "dim" if key.revoked_at else ""),
    ]


def _state(key: "KeyView") -> str:
    if key.revoked_at is not None:
        return f"revoked {time_of_day(key.revoked_at)}"
    return f"until {time_of_day(key.expires_at)}" if key.expires_at else "valid"
