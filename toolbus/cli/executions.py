"""`toolbus exec`: executions and their timeline."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, All, Cursor, Labels, Limit, Output, Url, pairs
from toolbus.cli.output import (
    Column,
    Format,
    as_json,
    console,
    draw,
    show_items,
    show_one,
    show_page,
    show_value,
    write,
)
from toolbus.cli.text import age, json_text, printable, time_of_day

if TYPE_CHECKING:
    from toolbus.cli.timeline import Glyphs
    from toolbus.client import Client
    from toolbus.client.requests.executions import ExecutionFilter
    from toolbus.client.views import EventView
    from toolbus_contracts.executions import ExecutionView, Transition

app = typer.Typer(help="Executions: list, show as a timeline, start, end.", no_args_is_help=True)
ExecutionId = Annotated[str, typer.Argument(metavar="ID", help="The execution's id.")]
At = Annotated[str | None, typer.Option("--at", metavar="T", help="As it was: a position, RFC 3339, or 15m ago.")]


@app.command("ls")
def ls(
    *,
    status: Annotated[str | None, typer.Option("--status", help="Only executions of this status.")] = None,
    label: Labels = None,
    parent: Annotated[str | None, typer.Option("--parent", metavar="ID", help="Only children of this one.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: All = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List executions, newest first."""
    from toolbus.client.requests.executions import list_executions

    asked: ExecutionFilter = {}
    if status:
        asked["status"] = status
    if label:
        asked["labels"] = pairs(label, "--label")
    if parent:
        asked["parent"] = parent
    with connected(url) as client:
        if every:
            show_items(client.executions.list(**asked), output, _columns())
        else:
            show_page(client.fetch(list_executions(asked, limit, cursor)), output, _columns())


@app.command("show")
def show(
    *,
    execution_id: ExecutionId,
    at: At = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until it has ended.")] = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Show an execution: the lanes of its calls over time, and its events."""
    from toolbus.cli.times import place

    if follow and at is not None:
        raise typer.BadParameter("--follow goes on from now; it cannot show another time", param_hint="--follow")
    until = place(at, "--at")
    with connected(url) as client:
        if follow:
            _follow(client, execution_id, output)
            return
        execution = client.executions.get(execution_id, at=until)
        if output is not Format.table:
            show_value(as_json(execution), output)
            return
        events = [event for event in client.executions.events(execution_id) if _is_before(event, until)]
    _draw(execution, events, until if isinstance(until, datetime) else None)


def _is_before(event: "EventView", until: datetime | int | None) -> bool:
    match until:
        case None:
            return True
        case int():
            return event.position <= until
        case _:
            return event.recorded_at <= until


def _draw(execution: "ExecutionView", events: "list[EventView]", at: datetime | None) -> None:
    from toolbus.cli.timeline import timeline

    shown = console()
    draw(timeline(execution, events, now=at or _now(events), width=shown.width, glyphs=_glyphs(shown.encoding)))


def _now(events: "Iterable[EventView]") -> datetime:
    """The present, or the newest event where the server's clock is ahead of ours."""
    return max([datetime.now(UTC), *(event.recorded_at for event in events)])


def _glyphs(encoding: str) -> "Glyphs":
    from toolbus.cli.timeline import FINE, PLAIN

    return FINE if encoding.lower().startswith("utf") else PLAIN


def _follow(client: "Client", execution_id: str, output: Format) -> None:
    """On a terminal the timeline is drawn anew with each event; elsewhere events are written one by one."""
    if output is not Format.table:
        for event in client.executions.follow(execution_id):
            write(json_text(as_json(event)) + "\n")
        return
    from toolbus.cli.timeline import event_line, timeline

    shown = console()
    execution = client.executions.get(execution_id)
    if not shown.is_terminal:
        for event in client.executions.follow(execution_id):
            write(event_line(event, execution.started_at, "", width=shown.width).plain + "\n")
        return
    from rich.live import Live

    seen: list[EventView] = []
    with Live(console=shown, auto_refresh=False, transient=True) as live:
        for event in client.executions.follow(execution_id):
            seen.append(event)
            live.update(timeline(execution, seen, now=_now(seen), width=shown.width), refresh=True)
    _draw(client.executions.get(execution_id), seen, None)


@app.command("events")
def events(
    *,
    execution_id: ExecutionId,
    after: Annotated[int | None, typer.Option("--after", metavar="POSITION", help="Only later ones.")] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List the events of an execution and of its calls, oldest first."""
    from toolbus.cli.timeline import summary

    columns: list[Column[EventView]] = [
        Column("POSITION", lambda event: event.position),
        Column("TIME", lambda event: time_of_day(event.recorded_at)),
        Column("KIND", lambda event: event.kind),
        Column("WHAT", summary, may_shrink=True),
    ]
    with connected(url) as client:
        show_items(client.executions.events(execution_id, after=after), output, columns)


@app.command("transitions")
def transitions(*, execution_id: ExecutionId, at: At = None, output: Output = TABLE, url: Url = None) -> None:
    """List the steps of an execution, oldest first."""
    from toolbus.cli.times import place

    columns: list[Column[Transition]] = [
        Column("POSITION", lambda step: step.position),
        Column("TIME", lambda step: time_of_day(step.at)),
        Column("TYPE", lambda step: step.type),
        Column("STATUS", lambda step: step.status),
        Column("TOOL", lambda step: step.tool, may_shrink=True),
    ]
    with connected(url) as client:
        show_items(client.executions.transitions(execution_id, at=place(at, "--at")), output, columns)


@app.command("start")
def start(
    *,
    label: Labels = None,
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="Where tools are looked up first. Repeatable, nearest first.")
    ] = None,
    parent: Annotated[str | None, typer.Option("--parent", metavar="ID", help="The execution it belongs to.")] = None,
    value: Annotated[str | None, typer.Option("--input", metavar="JSON", help="What it begins with.")] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Open an execution and print its id."""
    from toolbus.cli.arguments import json_option

    given = json_option(value, "--input")
    with connected(url) as client:
        found = client.executions.start(labels=pairs(label, "--label"), scopes=scope or (), parent=parent, input=given)
    show_one(found, output, lambda execution: write(f"{printable(execution.id)}\n"))


@app.command("finish")
def finish(
    *,
    execution_id: ExecutionId,
    failed: Annotated[bool, typer.Option("--failed", help="It did not come to what it was for.")] = False,
    value: Annotated[str | None, typer.Option("--result", metavar="JSON", help="What it came to.")] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Let an execution take no further calls."""
    from toolbus.cli.arguments import json_option

    given = json_option(value, "--result")
    with connected(url) as client:
        found = client.executions.finish(execution_id, "failed" if failed else "succeeded", output=given)
    show_one(found, output, _tell)


@app.command("cancel")
def cancel(
    *,
    execution_id: ExecutionId,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded.")] = "",
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Stop an execution and every call in it that can still be stopped."""
    with connected(url) as client:
        found = client.executions.cancel(execution_id, reason)
    show_one(found, output, _tell)


def _tell(execution: "ExecutionView") -> None:
    write(f"{printable(execution.id)}\t{execution.status}\n")


def _columns() -> "list[Column[ExecutionView]]":
    return [
        Column("EXECUTION", lambda execution: execution.id),
        Column("STATUS", lambda execution: execution.status),
        Column("AGE", lambda execution: age(execution.started_at)),
        Column("CALLS", lambda execution: sum(execution.calls.values())),
    ]
