"""`toolbus dead`: messages that nobody could use, and having them handled again."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected, progressing
from toolbus.cli.failures import FAILED, exit_code_of, tell
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Url
from toolbus.cli.output import Column, note, show_fields, show_items, show_one, show_page
from toolbus.cli.text import age, json_text, printable, time_of_day

if TYPE_CHECKING:
    from toolbus.client import Client, ClientError
    from toolbus_contracts.dead import DeadLetterView, OpenedLetterView, Redriven

app = typer.Typer(help="Dead letters: list, look at, have them handled again.", no_args_is_help=True)
Reason = Annotated[str | None, typer.Option("--reason", metavar="CODE", help="Only letters that died of it.")]
LetterId = Annotated[str, typer.Argument(metavar="ID", help="The letter's id.")]
OUTCOMES = {"decided": "green", "recorded": "green", "sent": "green", "dropped": "dim"}


@app.command("ls")
def ls(
    *,
    reason: Reason = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: All = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List dead letters, newest first (scope operate)."""
    from toolbus.client.requests.dead import list_letters

    with connected(url) as client:
        if every:
            show_items(client.dead.list(reason=reason), output, _columns())
        else:
            show_page(client.fetch(list_letters(reason, limit, cursor)), output, _columns())


@app.command("show")
def show(*, letter_id: LetterId, output: Output = TABLE, url: Url = None) -> None:
    """Show a dead letter with what is in it (scope operate)."""
    with connected(url) as client:
        show_one(client.dead.get(letter_id), output, _show)


@app.command("redrive")
def redrive(
    *,
    letter_ids: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="The letters' ids.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every letter that can be, the oldest first.")] = False,
    reason: Reason = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Have messages handled again, as what they were: nothing is done twice, and what fails stays (scope operate)."""
    if every == bool(letter_ids):
        raise typer.BadParameter("give the ids of letters, or --all", param_hint="ID…")
    if reason is not None and not every:
        raise typer.BadParameter("goes with --all alone", param_hint="--reason")
    failed: list[ClientError] = []
    columns: list[Column[Redriven]] = [
        Column("LETTER", lambda done: done.id),
        Column("OUTCOME", lambda done: done.outcome, style=lambda done: OUTCOMES[done.outcome]),
        Column("CALL", lambda done: done.call_id),
    ]
    with connected(url) as client:
        found = letter_ids or _redrivable(client, reason)
        show_items(_redriven(client, found, failed), output, columns)
    for error in failed:
        tell(error)
    if failed:
        codes = {exit_code_of(error) for error in failed}
        raise typer.Exit(codes.pop() if len(codes) == 1 else FAILED)


def _redrivable(client: "Client", reason: str | None) -> list[str]:
    """The letters that can be handled again, in the order in which they came."""
    letters = list(client.dead.list(reason=reason))
    left = sum(not letter.is_redrivable for letter in letters)
    if left:
        note(f"{left} of {len(letters)} cannot be handled again; look at them with: toolbus dead ls", "dim")
    return [letter.id for letter in reversed(letters) if letter.is_redrivable]


def _redriven(client: "Client", letter_ids: Sequence[str], failed: "list[ClientError]") -> "Iterator[Redriven]":
    """Go through the letters; one that fails stops no other, unless the others would fail of the same."""
    from toolbus.client.failures import ClientError, Conflict, Invalid, NotFound, ServerFault

    for letter_id in progressing(letter_ids, "redriving", len(letter_ids)):
        try:
            yield client.dead.redrive(letter_id)
        except ClientError as error:
            error.message = f"{letter_id}: {error.message}"
            failed.append(error)
            if not isinstance(error, Conflict | Invalid | NotFound | ServerFault):
                return


def _columns() -> "list[Column[DeadLetterView]]":
    return [
        Column("LETTER", lambda letter: letter.id),
        Column("REASON", lambda letter: letter.reason),
        Column("AGE", lambda letter: age(letter.died_at)),
        Column("REDRIVE", lambda letter: "yes" if letter.is_redrivable else "no"),
        Column("SUBJECT", lambda letter: letter.subject, may_shrink=True),
        Column("ERROR", lambda letter: letter.error, may_shrink=True),
    ]


def _show(letter: "OpenedLetterView") -> None:
    from rich.text import Text

    came_from = f"{letter.subject} ({letter.stream} {letter.sequence})" if letter.subject is not None else None
    show_fields(
        [
            ("letter", letter.id),
            ("reason", letter.reason),
            ("error", letter.error),
            ("from", came_from),
            ("stored", time_of_day(letter.stored_at)),
            ("died", f"{time_of_day(letter.died_at)}{_tries(letter)}"),
            ("call", letter.call_id),
            ("redrive", _next_step(letter)),
            *((f"  {name}", value) for name, value in letter.headers.items()),
            ("bytes", letter.bytes),
            ("body", Text(json_text(letter.body, 2)) if letter.content is None else None),
            ("content", Text(_readable(letter.content)) if letter.content else None),
        ]
    )


def _tries(letter: "OpenedLetterView") -> str:
    match letter.deliveries:
        case None:
            return ""
        case 1:
            return " at the first delivery"
        case number:
            return f" after {number} deliveries"


def _next_step(letter: "OpenedLetterView") -> str:
    return f"toolbus dead redrive {letter.id}" if letter.is_redrivable else "it cannot be handled again"


def _readable(content: str) -> str:
    """Bytes as text; whatever is none is written as its escape."""
    import base64

    return printable(base64.b64decode(content).decode("utf-8", "backslashreplace"))
