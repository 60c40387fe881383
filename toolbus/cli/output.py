"""Writing data to stdout and everything else to stderr."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

import typer

from toolbus.cli.text import json_text, printable

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console, RenderableType

    from toolbus.client.exchange import Page

T = TypeVar("T")
M = TypeVar("M", bound="BaseModel")
WIDE = 100_000


class Format(StrEnum):
    """How data is written."""

    table = "table"
    json = "json"
    jsonl = "jsonl"


class _Chosen:
    """What -o said, so that an error is told in the same form."""

    output = Format.table


def remember(output: Format) -> Format:
    """Keep the chosen form for errors."""
    _Chosen.output = output
    return output


def chosen() -> Format:
    """The form that was chosen with -o."""
    return _Chosen.output


def write(text: str) -> None:
    """
    Write data to stdout.

    Raises:
        typer.Exit: whoever read has seen enough.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
        raise typer.Exit(0) from None


def silence() -> None:
    """Let nothing more be written to a reader that went away, not even when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str, style: str = "") -> None:
    """Tell a person something beside the data."""
    from rich.text import Text

    console(to_stderr=True).print(Text(text, style=style), soft_wrap=True)


def console(*, to_stderr: bool = False, width: int | None = None) -> "Console":
    """A console that takes nothing in a text for a command."""
    from rich.console import Console

    return Console(stderr=to_stderr, markup=False, highlight=False, emoji=False, width=width)


def draw(what: "RenderableType", width: int | None = None) -> None:
    """Draw something for people on stdout."""
    canvas = console(width=width)
    with canvas.capture() as drawn:
        canvas.print(what)
    write(drawn.get())


# ── one thing ───────────────────────────────────────────────────────────────────────────────────


def as_json(model: "BaseModel") -> object:
    """A view in its documented shape."""
    return model.model_dump(mode="json", by_alias=True)


def show_value(value: object, output: Format) -> None:
    """Write one JSON value; on several lines unless jsonl was asked for."""
    write(json_text(value, None if output is Format.jsonl else 2) + "\n")


def show_one(view: M, output: Format, table: Callable[[M], None]) -> None:
    """Write one view: in its documented shape, or as `table` draws it."""
    if output is Format.table:
        table(view)
    else:
        show_value(as_json(view), output)


def show_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Draw names and values below one another; what is empty is left out."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields:
        if value is not None and value != "":
            told = value if isinstance(value, Text) else Text(printable(value))
            grid.add_row(Text(name, style="dim"), told)
    draw(grid)


# ── lists ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Column(Generic[T]):
    """One column of a table. A column that `may_shrink` gives way on a narrow terminal."""

    title: str
    cell: Callable[[T], object]
    may_shrink: bool = False
    style: Callable[[T], str] = lambda _: ""


def show_page(page: "Page[M]", output: Format, columns: Sequence[Column[M]]) -> None:
    """Write one page of a list, and how to get the next one."""
    if output is Format.json:
        show_value({"items": [as_json(item) for item in page.items], "next_cursor": page.next_cursor}, output)
        return
    show_items(page.items, output, columns)
    if page.next_cursor is not None:
        note(f"There are more: --cursor {printable(page.next_cursor)}, or --all.", "dim")


def show_items(items: Iterable[M], output: Format, columns: Sequence[Column[M]]) -> None:
    """Write a whole list; as jsonl each item as soon as it is there."""
    match output:
        case Format.jsonl:
            for item in items:
                write(json_text(as_json(item)) + "\n")
        case Format.json:
            show_value({"items": [as_json(item) for item in items], "next_cursor": None}, output)
        case _:
            show_table(list(items), columns)


def show_table(items: Sequence[T], columns: Sequence[Column[T]]) -> None:
    """Draw a table on a terminal; write fields divided by tabs elsewhere."""
    if not sys.stdout.isatty():
        rows = [[column.title for column in columns], *([_told(column, item) for column in columns] for item in items)]
        write("".join("\t".join(row) + "\n" for row in rows))
        return
    if not items:
        note("Nothing found.", "dim")
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for column in columns:
        shrink = column.may_shrink
        table.add_column(
            column.title, no_wrap=True, overflow="ellipsis" if shrink else "fold", min_width=_least(column, items)
        )
    for item in items:
        table.add_row(*(Text(_told(column, item), style=column.style(item)) for column in columns))
    draw(table)


def _told(column: Column[T], item: T) -> str:
    value = column.cell(item)
    return "" if value is None else printable(value)


def _least(column: Column[T], items: Sequence[T]) -> int:
    """The width below which a column does not go: its longest cell, unless it may shrink."""
    if column.may_shrink:
        return len(column.title)
    return max(len(column.title), *(len(_told(column, item)) for item in items))
