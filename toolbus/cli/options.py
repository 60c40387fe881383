"""Options that several commands share, and reading the values that people give them."""

from typing import Annotated

import typer

from toolbus.cli.output import Format, remember

Url = Annotated[
    str | None, typer.Option("--url", help="The server; else TOOLBUS_URL, else the one that was started here.")
]
Output = Annotated[
    Format,
    typer.Option("--output", "-o", help="table for people, json or jsonl for programs.", callback=remember),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=500, help="How many at most.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Go on after the previous page: its next_cursor.")]
All = Annotated[bool, typer.Option("--all", help="Every page.")]
Scope = Annotated[str | None, typer.Option("--scope", help="Where tools are looked up: tenant, agent:ID or task:ID.")]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="LEVEL=ID",
        help="Whose stored values hold: session=ID, task=ID, user=ID, agent=ID. Repeatable.",
    ),
]
Labels = Annotated[list[str] | None, typer.Option("--label", metavar="K=V", help="A label; may be repeated.")]
TABLE = Format.table
NEAR_LEVELS = (
    "session",
    "task",
    "user",
    "agent",
)  # all that a call can name; what is stored for the tenant always holds


def pairs(given: list[str] | None, option: str, separators: str = "=:") -> dict[str, str]:
    """Read `k=v` (or `k:v`) as often as it was given."""
    found: dict[str, str] = {}
    for text in given or ():
        places = [text.index(mark) for mark in separators if mark in text]
        if not places or min(places) == 0:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        name, value = text[: min(places)], text[min(places) + 1 :]
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint=option)
        found[name] = value
    return found


def context_of(given: list[str] | None) -> dict[str, str]:
    """Read whose stored values hold, by level; `user:ana` means the same as `user=ana`."""
    found = pairs(given, "--context")
    for level, level_id in found.items():
        if level not in NEAR_LEVELS:
            raise typer.BadParameter(f"{level!r} is none of {', '.join(NEAR_LEVELS)}", param_hint="--context")
        if not level_id:
            raise typer.BadParameter(f"whose {level} is meant? {level}=ID", param_hint="--context")
    return found
