"""`toolbus grants`: agree beforehand to the next calls of a tool."""

from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Scope, Url
from toolbus.cli.output import Column, note, show_fields, show_items, show_one, show_page
from toolbus.cli.text import printable, time_of_day
from toolbus.cli.waits import moment_ahead

if TYPE_CHECKING:
    from toolbus_contracts.waits import DelegationView, GrantView

app = typer.Typer(help="Standing grants: agree to calls beforehand, list, revoke.", no_args_is_help=True)


@app.command("ls")
def ls(
    *,
    tool: Annotated[str | None, typer.Option("--tool", help="Only those of this tool.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: All = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List grants, newest first."""
    from toolbus.client.requests.waits import list_grants

    with connected(url) as client:
        if every:
            show_items(client.grants.list(tool=tool), output, _columns())
        else:
            show_page(client.fetch(list_grants(tool, limit, cursor)), output, _columns())


@app.command("give")
def give(
    *,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool whose calls are agreed to.")],
    uses: Annotated[int, typer.Option("--uses", min=1, max=10_000, help="How many calls at most.")],
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Until when: 2d, or RFC 3339.")],
    scope: Scope = None,
    condition: Annotated[
        str | None, typer.Option("--while", metavar="CEL", help="Only calls of which this is true: call.arguments.…")
    ] = None,
    reason: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Agree beforehand to the next calls of a tool as it is now (scope approve)."""
    with connected(url) as client:
        given = client.grants.give(tool, uses, moment_ahead(until), scope=scope, condition=condition, note=reason)
        show_one(given, output, _show)


@app.command("revoke")
def revoke(*, grant_id: Annotated[str, typer.Argument(metavar="ID", help="The grant's id.")], url: Url = None) -> None:
    """End a grant at once (its giver, or scope admin)."""
    with connected(url) as client:
        client.grants.revoke(grant_id)
    note(f"Grant {printable(grant_id)} is revoked.")


def _columns() -> "list[Column[GrantView]]":
    return [
        Column("GRANT", lambda grant: grant.id),
        Column("TOOL", lambda grant: grant.tool, may_shrink=True),
        Column("LEFT", lambda grant: f"{grant.left}/{grant.uses}"),
        Column("STATE", state_of, style=lambda grant: "dim" if grant.left == 0 else "green"),
        Column("SCOPE", lambda grant: grant.scope or "any", may_shrink=True),
        Column("BY", lambda grant: grant.subject, may_shrink=True),
        Column("WHILE", lambda grant: grant.condition or "", may_shrink=True),
    ]


def state_of(given: "GrantView | DelegationView") -> str:
    """Until when it holds, or since when no more."""
    if given.revoked_at is not None:
        return f"revoked {time_of_day(given.revoked_at)}"
    return f"until {time_of_day(given.until)}"


def _show(grant: "GrantView") -> None:
    show_fields(
        [
            ("grant", grant.id),
            ("tool", grant.tool),
            ("left", f"{grant.left} of {grant.uses}"),
            ("scope", grant.scope or "any"),
            ("state", state_of(grant)),
            ("while", grant.condition),
            ("given by", grant.subject),
            ("note", grant.note or None),
        ]
    )
