"""Connecting to the server that the options and the environment name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from toolbus.client import Client

T = TypeVar("T")


@contextmanager
def connected(url: str | None) -> "Iterator[Client]":
    """A client of the server, closed at the end."""
    from toolbus.client import Client

    with Client(url) as client:
        yield client


@contextmanager
def waiting(told: str) -> Iterator[None]:
    """Show on a terminal that something is being waited for."""
    from rich.text import Text

    from toolbus.cli.output import console

    shown = console(to_stderr=True)
    if not shown.is_terminal:
        yield
        return
    with shown.status(Text(told)):
        yield


def progressing(items: Iterable[T], told: str, total: int) -> Iterator[T]:
    """Hand out items; on a terminal with a bar that tells how many are done."""
    from rich.progress import track

    from toolbus.cli.output import console

    shown = console(to_stderr=True)
    if not shown.is_terminal or total < 2:  # noqa: PLR2004 - one item is no progress
        yield from items
        return
    yield from track(items, description=told, total=total, console=shown, transient=True)
