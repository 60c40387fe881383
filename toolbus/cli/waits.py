"""`toolbus waits`: calls that stand still for somebody, and what to say to them."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Url
from toolbus.cli.output import Column, note, show_fields, show_items, show_one, show_page
from toolbus.cli.text import age, json_text, printable, time_of_day

if TYPE_CHECKING:
    from toolbus.client import Client
    from toolbus.client.requests.waits import WaitFilter
    from toolbus_contracts.waits import WaitDetail

app = typer.Typer(help="Calls that stand still for somebody: list, look at, decide, answer.", no_args_is_help=True)
WaitId = Annotated[str, typer.Argument(metavar="ID", help="The wait's id.")]
Digest = Annotated[
    str | None,
    typer.Option("--digest", metavar="DIGEST", help="What you looked at. Left out: what the wait is about now."),
]
COLOURS = {"open": "yellow", "approved": "green", "answered": "green", "completed": "green", "denied": "red"}


@app.command("ls")
def ls(
    *,
    kind: Annotated[str | None, typer.Option("--kind", help="approval, function, input or doubt.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="open or closed. Left out: both.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Only calls of this tool.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: All = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List waits, newest first."""
    from toolbus.client.requests.waits import list_waits

    given = {"kind": kind, "status": status, "tool": tool}
    asked = cast("WaitFilter", {name: value for name, value in given.items() if value is not None})
    with connected(url) as client:
        if every:
            show_items(client.waits.list(**asked), output, _columns())
        else:
            show_page(client.fetch(list_waits(asked, limit, cursor)), output, _columns())


@app.command("show")
def show(*, wait_id: WaitId, output: Output = TABLE, url: Url = None) -> None:
    """Show a wait: what would run, who asked for it, who may decide, and what was said."""
    with connected(url) as client:
        show_one(client.waits.get(wait_id), output, show_wait)


@app.command("approve")
def approve(
    *,
    wait_id: WaitId,
    digest: Digest = None,
    reason: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="The whole arguments, changed; @FILE, or - for stdin.")
    ] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Agree to a call, or change its arguments and agree to that (scope approve)."""
    from toolbus.cli.arguments import read_arguments

    arguments = None if args is None else read_arguments(args, None)
    with connected(url) as client:
        found = digest or _digest(client, wait_id)
        show_one(client.waits.approve(wait_id, found, note=reason, arguments=arguments), output, show_wait)


@app.command("deny")
def deny(
    *,
    wait_id: WaitId,
    reason: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")],
    digest: Digest = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Say no to a call, which ends it (scope approve)."""
    with connected(url) as client:
        found = digest or _digest(client, wait_id)
        show_one(client.waits.deny(wait_id, found, reason), output, show_wait)


@app.command("answer")
def answer(
    *,
    wait_id: WaitId,
    values: Annotated[
        str | None, typer.Option("--values", metavar="JSON", help="The values; @FILE, or - for stdin.")
    ] = None,
    value: Annotated[
        list[str] | None, typer.Option("--value", metavar="NAME=TEXT", help="One value; NAME:=JSON. Repeatable.")
    ] = None,
    digest: Digest = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Supply the values that a call asks for (scope approve)."""
    from toolbus.cli.arguments import read_arguments

    given = read_arguments(values, value)
    with connected(url) as client:
        found = digest or _digest(client, wait_id)
        show_one(client.waits.answer(wait_id, found, given), output, show_wait)


@app.command("delegate")
def delegate(
    *,
    wait_id: WaitId,
    to: Annotated[str, typer.Option("--to", metavar="SUBJECT", help="Who decides in your place: user:ben.")],
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Until when: 2d, or RFC 3339.")],
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Let somebody else decide a wait in your place (scope approve)."""
    with connected(url) as client:
        show_one(client.waits.delegate(wait_id, to, moment_ahead(until)), output, show_wait)


def moment_ahead(text: str) -> datetime:
    """The moment that `--until` names."""
    from toolbus.cli.times import moment

    found = moment(text, "--until", ahead=True)
    if found is None:
        raise typer.BadParameter("names no moment", param_hint="--until")
    return found


def _digest(client: "Client", wait_id: str) -> str:
    """What the wait is about now."""
    digest = client.waits.get(wait_id).digest
    note(f"about {printable(digest)}", "dim")
    return digest


def _columns() -> "list[Column[WaitDetail]]":
    return [
        Column("WAIT", lambda wait: wait.id),
        Column("KIND", lambda wait: wait.kind),
        Column("STATE", _state, style=lambda wait: COLOURS.get(_state(wait), "dim")),
        Column("TOOL", lambda wait: wait.tool, may_shrink=True),
        Column("EFFECT", lambda wait: wait.contract.effect),
        Column("AGE", lambda wait: age(wait.opened_at)),
        Column("EXPIRES", lambda wait: time_of_day(wait.expires_at)),
        Column("BY", lambda wait: wait.requester.on_behalf_of or wait.requester.subject, may_shrink=True),
    ]


def _state(wait: "WaitDetail") -> str:
    return wait.outcome or wait.status


def show_wait(wait: "WaitDetail") -> None:
    """Show a wait to a person."""
    from rich.text import Text

    requester = wait.requester
    asked_by = requester.subject + (f" on behalf of {requester.on_behalf_of}" if requester.on_behalf_of else "")
    show_fields(
        [
            ("wait", wait.id),
            ("kind", wait.kind),
            ("state", Text(_state(wait), style=COLOURS.get(_state(wait), ""))),
            ("call", wait.call_id),
            ("tool", wait.tool),
            ("effect", wait.contract.effect),
            ("asked by", asked_by),
            ("may decide", ", ".join(wait.may_decide) or ("anybody" if wait.kind == "approval" else None)),
            ("quorum", str(wait.approval.quorum) if wait.approval else None),
            ("opened", time_of_day(wait.opened_at)),
            ("expires", time_of_day(wait.expires_at) if wait.expires_at else None),
            ("closed", time_of_day(wait.closed_at) if wait.closed_at else None),
            ("note", wait.note or None),
            ("digest", wait.digest),
            ("arguments", Text(json_text(wait.arguments, 2))),
            ("question", Text(wait.ask_user.message) if wait.ask_user and wait.ask_user.message else None),
            ("asked for", Text(json_text(wait.ask_user.fields, 2)) if wait.ask_user else None),
            ("server is told", Text(json_text(wait.answers, 2)) if wait.answers else None),
            ("error", wait.error.message if wait.error else None),
            *(("said", line) for line in _said(wait)),
            ("too late", str(wait.late) if wait.late else None),
        ]
    )


def _said(wait: "WaitDetail") -> Iterator[str]:
    for edit in wait.edits:
        yield f"{time_of_day(edit.at)} {edit.subject} edited: {edit.note}"
    for decision in wait.decisions:
        in_place = f" for {decision.acting_for}" if decision.acting_for else ""
        by_grant = f" by {decision.grant_id}" if decision.grant_id else ""
        told = f": {decision.note}" if decision.note else ""
        yield f"{time_of_day(decision.at)} {decision.subject}{in_place}{by_grant} {decision.decision}{told}"
