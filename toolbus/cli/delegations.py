"""`toolbus delegations`: let somebody else decide in one's place."""

from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected
from toolbus.cli.grants import state_of
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Url
from toolbus.cli.output import Column, note, show_fields, show_items, show_one, show_page
from toolbus.cli.text import printable
from toolbus.cli.waits import moment_ahead

if TYPE_CHECKING:
    from toolbus_contracts.waits import DelegationView

app = typer.Typer(help="Who decides in whose place, in every wait: give, list, revoke.", no_args_is_help=True)


@app.command("ls")
def ls(
    *, limit: Limit = 50, cursor: Cursor = None, every: All = False, output: Output = TABLE, url: Url = None
) -> None:
    """List delegations, newest first."""
    from toolbus.client.requests.waits import list_delegations

    with connected(url) as client:
        if every:
            show_items(client.delegations.list(), output, _columns())
        else:
            show_page(client.fetch(list_delegations(limit, cursor)), output, _columns())


@app.command("give")
def give(
    *,
    to: Annotated[str, typer.Argument(metavar="SUBJECT", help="Who decides in your place: user:ben.")],
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Until when: 2d, or RFC 3339.")],
    reason: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Let somebody else decide in your place, with the roles that you have now (scope approve)."""
    with connected(url) as client:
        show_one(client.delegations.give(to, moment_ahead(until), note=reason), output, _show)


@app.command("revoke")
def revoke(
    *, delegation_id: Annotated[str, typer.Argument(metavar="ID", help="The delegation's id.")], url: Url = None
) -> None:
    """End a delegation at once (its giver, or scope admin)."""
    with connected(url) as client:
        client.delegations.revoke(delegation_id)
    note(f"Delegation {printable(delegation_id)} is revoked.")


def _columns() -> "list[Column[DelegationView]]":
    return [
        Column("DELEGATION", lambda delegation: delegation.id),
        Column("FROM", lambda delegation: delegation.subject, may_shrink=True),
        Column("TO", lambda delegation: delegation.to, may_shrink=True),
        Column("STATE", state_of, style=lambda delegation: "dim" if delegation.revoked_at else "green"),
    ]


def _show(delegation: "DelegationView") -> None:
    show_fields(
        [
            ("delegation", delegation.id),
            ("from", delegation.subject),
            ("to", delegation.to),
            ("state", state_of(delegation)),
            ("note", delegation.note or None),
        ]
    )
