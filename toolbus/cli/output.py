"""Writing data to stdout and everything else to stderr."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

import typer

from toolbus.cli.text import json_text, printable

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console, RenderableType
    from rich.text import Text

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
    write("".join(line.rstrip() + "\n" for line in drawn.get().splitlines()))


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
    """One column of a table. On a narrow terminal one that `may_shrink` is cut, one that `may_fold` gets more lines."""

    title: str
    cell: Callable[[T], object]
    may_shrink: bool = False
    may_fold: bool = False
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
    for line in _lines(items, columns, console().width):
        draw(line)


def _lines(items: Sequence[T], columns: Sequence[Column[T]], width: int) -> "Iterator[Text]":
    """The lines of a table, title first; columns that give way share what the others leave."""
    from rich.text import Text

    cells = [[_told(column, item) for column in columns] for item in items]
    widths = _widths(cells, columns, width)
    yield _line([Text(column.title, style="bold") for column in columns], widths)
    for item, row in zip(items, cells, strict=True):
        texts = [Text(told, style=column.style(item)) for told, column in zip(row, columns, strict=True)]
        folded = [
            list(text.wrap(console(), room)) if column.may_fold else [text]
            for text, column, room in zip(texts, columns, widths, strict=True)
        ]
        for number in range(max(len(parts) for parts in folded)):
            yield _line([parts[number] if number < len(parts) else Text() for parts in folded], widths)


def _line(texts: "Sequence[Text]", widths: Sequence[int]) -> "Text":
    from rich.text import Text

    line = Text(no_wrap=True, overflow="ignore")
    for text, room in zip(texts, widths, strict=True):
        text.truncate(room, overflow="ellipsis", pad=True)
        line.append_text(text)
        line.append("  ")
    line.rstrip()
    return line


def _widths(cells: Sequence[Sequence[str]], columns: Sequence[Column[T]], width: int) -> list[int]:
    from rich.cells import cell_len

    wanted = [
        max(len(column.title), *(cell_len(row[number]) for row in cells)) for number, column in enumerate(columns)
    ]
    giving = [number for number, column in enumerate(columns) if column.may_shrink or column.may_fold]
    left = width - 2 * (len(columns) - 1) - sum(wanted[n] for n in range(len(columns)) if n not in giving)
    for done, number in enumerate(sorted(giving, key=lambda n: wanted[n])):
        room = max(len(columns[number].title), left // (len(giving) - done))
        wanted[number] = min(wanted[number], room)
        left -= wanted[number]
    return wanted


def _told(column: Column[T], item: T) -> str:
    value = column.cell(item)
    return "" if value is None else printable(value)
