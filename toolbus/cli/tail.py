"""`toolbus tail`: events as they are recorded."""

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, Output, Url, pairs
from toolbus.cli.output import Format, as_json, write
from toolbus.cli.text import json_text, printable

if TYPE_CHECKING:
    from toolbus.client.requests.server import EventFilter
    from toolbus.client.views import EventView

FIELDS = ("kind", "category", "subject_id", "correlation_id", "causation_id", "id")


def tail(
    *,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="FIELD=PATTERN",
            help=f"{', '.join(FIELDS)}; * stands for anything. Repeatable, all must match.",
        ),
    ] = None,
    after: Annotated[int | None, typer.Option("--after", metavar="POSITION", help="Begin after it, not now.")] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="End after so many.")] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Print events of the whole log as they are recorded, until Ctrl-C (scope audit)."""
    wanted = pairs(filters, "--filter", "=")
    for name in wanted:
        if name not in FIELDS:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(FIELDS)}", param_hint="--filter")
    asked: EventFilter = {}
    if "*" not in wanted.get("kind", "*"):
        asked["kind"] = wanted["kind"]
    if "*" not in wanted.get("category", "*"):
        asked["category"] = wanted["category"]
    left = count
    with connected(url) as client:
        for event in client.follow(after, **asked):
            if matches(event, wanted):
                write(_line(event) if output is Format.table else json_text(as_json(event)) + "\n")
                left = None if left is None else left - 1
                if left == 0:
                    return


def matches(event: "EventView", wanted: dict[str, str]) -> bool:
    """True when every field fits its pattern."""
    return all(fnmatchcase(str(getattr(event, name)), pattern) for name, pattern in wanted.items())


def _line(event: "EventView") -> str:
    from toolbus.cli.timeline import summary

    at = event.recorded_at.strftime("%H:%M:%S.%f")[:-3]
    head = f"{event.position:>8}  {at}  {printable(event.kind):<26}  {printable(event.subject_id)}"
    return f"{head}  {summary(event)}".rstrip() + "\n"
