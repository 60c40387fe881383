"""Carrying out functions: `toolbus waits lease`, `heartbeat`, `release`, and `toolbus calls complete`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, Output, Url
from toolbus.cli.output import Column, Format, note, show_items, show_one
from toolbus.cli.text import json_text, printable, time_of_day

if TYPE_CHECKING:
    from toolbus_contracts.values import Json
    from toolbus_contracts.waits import LeasedCall, LeaseView

VISIBILITY_S = 60.0
WaitId = Annotated[str, typer.Argument(metavar="ID", help="The wait's id.")]
LeaseId = Annotated[str, typer.Option("--lease", metavar="ID", help="The lease's id, as `waits lease` told it.")]
Visibility = Annotated[
    float, typer.Option("--visibility", min=1, max=86400, metavar="S", help="Nobody else gets them for so long.")
]


def lease(
    *,
    tools: Annotated[list[str], typer.Argument(metavar="TOOL…", help="The functions that you carry out.")],
    limit: Annotated[int, typer.Option("--max", min=1, max=100, help="How many calls at most.")] = 1,
    visibility: Visibility = VISIBILITY_S,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Take waiting calls of functions to work on, oldest first (scope work)."""
    with connected(url) as client:
        found = client.lease(*tools, limit=limit, visibility_s=visibility)
    show_items(found, output, _columns())
    if found and output is Format.table:
        note("Say what came of each with: toolbus calls complete CALL --result JSON", "dim")


def heartbeat(
    *,
    wait_id: WaitId,
    lease_id: LeaseId,
    visibility: Visibility = VISIBILITY_S,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Keep a leased call for longer, from now on (scope work)."""
    from toolbus.client.requests.functions import keep_lease

    with connected(url) as client:
        show_one(client.fetch(keep_lease(wait_id, lease_id, visibility)), output, _tell_kept)


def release(*, wait_id: WaitId, lease_id: LeaseId, url: Url = None) -> None:
    """Give a leased call back, so that another worker may have it at once (scope work)."""
    from toolbus.client.requests.functions import release_lease

    with connected(url) as client:
        client.fetch(release_lease(wait_id, lease_id))
    note(f"{printable(wait_id)} is free again.")


def complete(
    *,
    call_id: Annotated[str, typer.Argument(metavar="ID", help="The call's id.")],
    result: Annotated[str | None, typer.Option("--result", metavar="JSON", help="What the function gave.")] = None,
    error: Annotated[str | None, typer.Option("--error", metavar="TEXT", help="Why it came to nothing.")] = None,
    code: Annotated[str | None, typer.Option("--code", metavar="CODE", help="A stable name for that error.")] = None,
    token: Annotated[
        str | None, typer.Option("--token", metavar="wt_…", help="The call's own token, instead of a key.")
    ] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Say what a function that waits for its client came to: its result, or an error (scope work)."""
    from toolbus.cli.arguments import json_option
    from toolbus.cli.calls import show_call

    if (result is None) == (error is None):
        raise typer.BadParameter("give one of --result and --error", param_hint="--result")
    if code is not None and error is None:
        raise typer.BadParameter("goes with --error alone", param_hint="--code")
    given = json_option(result, "--result")
    with connected(url) as client:
        found = client.complete(call_id, given, error=_error(error, code), token=token)
    show_one(found, output, show_call)


def _error(message: str | None, code: str | None) -> "Mapping[str, Json] | None":
    if message is None:
        return None
    return {"message": message, **({} if code is None else {"code": code})}


def _columns() -> "list[Column[LeasedCall]]":
    return [
        Column("CALL", lambda leased: leased.call_id),
        Column("WAIT", lambda leased: leased.wait_id),
        Column("LEASE", lambda leased: leased.lease_id),
        Column("UNTIL", lambda leased: time_of_day(leased.leased_until)),
        Column("TOOL", lambda leased: leased.tool, may_shrink=True),
        Column("ARGUMENTS", lambda leased: json_text(leased.arguments), may_shrink=True),
    ]


def _tell_kept(kept: "LeaseView") -> None:
    note(f"{printable(kept.wait_id)} is yours until {time_of_day(kept.leased_until)}.")
