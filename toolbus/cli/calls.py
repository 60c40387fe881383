"""`toolbus call` and `toolbus calls`: submitting, looking at and stopping calls."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected, waiting
from toolbus.cli.options import TABLE, All, Context, Cursor, Labels, Limit, Output, Url, context_of, pairs
from toolbus.cli.output import (
    Column,
    Format,
    as_json,
    note,
    show_fields,
    show_items,
    show_one,
    show_page,
    show_value,
    write,
)
from toolbus.cli.text import age, duration, json_text, printable, time_of_day

if TYPE_CHECKING:
    from toolbus.client.failures import ClientError
    from toolbus.client.requests.calls import CallFilter, CallOptions
    from toolbus_contracts.calls import CallView

app = typer.Typer(help="Calls: list, look at, stop.", no_args_is_help=True)
CallId = Annotated[str, typer.Argument(metavar="ID", help="The call's id.")]
Wait = Annotated[float | None, typer.Option("--wait", min=0, metavar="S", help="Wait so many seconds for its end.")]


class Outcome(StrEnum):
    """What really happened to a call in doubt."""

    succeeded = "succeeded"
    failed = "failed"
    retry = "retry"


STYLES = {"succeeded": "green", "failed": "red", "refused": "red", "denied": "red", "in_doubt": "yellow"}


def call(
    *,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="NAME or NAME@VERSION.")],
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="All arguments: JSON, @FILE, or - for standard input.")
    ] = None,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", metavar="K=V", help="One argument: k=text, or k:=JSON. Repeatable.")
    ] = None,
    wait: Wait = None,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", metavar="K", help="The same key is the same call.")
    ] = None,
    execution: Annotated[
        str | None, typer.Option("--execution", metavar="ID", help="The execution it is put into.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option("--deadline", metavar="S", help="Seconds after which it is not begun.")
    ] = None,
    context: Context = None,
    label: Labels = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell whether it would be accepted.")] = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Submit a call. With --wait: print its output, and exit by its outcome."""
    from toolbus.cli.arguments import read_arguments
    from toolbus.client.failures import ClientError
    from toolbus.client.requests.calls import keyed

    options = _options(
        idempotency_key=key,
        execution_id=execution,
        deadline_s=deadline,
        context=context_of(context),
        labels=pairs(label, "--label"),
        dry_run=dry_run,
    )
    arguments = read_arguments(args, arg)
    options["idempotency_key"] = keyed(dict(options))["idempotency_key"]
    with connected(url) as client:
        try:
            with waiting(f"{printable(tool)} …"):
                found = client.submit(tool, arguments, wait=0.0 if dry_run else wait or 0.0, **options)
        except KeyboardInterrupt:
            note(f"The call may go on. Ask for it again with --idempotency-key {printable(options['idempotency_key'])}")
            raise
        except ClientError as error:
            _hint_types(error, arg)
            raise
    _tell_submitted(found, output, is_waited_for=wait is not None, is_dry=dry_run)


def _options(**given: object) -> "CallOptions":
    found: CallOptions = {}
    for name, value in given.items():
        if value:
            found[name] = value  # type: ignore[literal-required]  # the names are spelled out by the only caller
    return found


def _hint_types(error: "ClientError", arg: list[str] | None) -> None:
    """Say how numbers are written, where text was given and the arguments do not fit."""
    if error.code == "invalid_arguments" and any(":=" not in text for text in arg or ()):
        error.next_step += " --arg k=v is text; numbers, true, null, lists and objects are written k:=JSON."


def _tell_submitted(found: "CallView", output: Format, *, is_waited_for: bool, is_dry: bool) -> None:
    from toolbus.client.failures import not_succeeded

    if output is not Format.table:
        show_value(as_json(found), output)
    elif is_dry:
        show_call(found)
        note("It would be accepted; nothing was recorded.", "dim")
    elif not is_waited_for:
        write(f"{printable(found.id)}\n")
        look = f"calls show {printable(found.id)} --wait 60" if found.wait is None else f"waits show {found.wait.id}"
        note(f"{found.status}; look at it with: toolbus {look}", "dim")
    elif found.status == "succeeded":
        write(json_text(found.output, 2) + "\n")
    failure = not_succeeded(found)
    if failure is not None and is_waited_for and not is_dry:
        raise failure


@app.command("ls")
def ls(
    *,
    status: Annotated[str | None, typer.Option("--status", help="Only calls of this status.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Only calls of this tool.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only calls of tools of this type.")] = None,
    execution: Annotated[
        str | None, typer.Option("--execution", metavar="ID", help="Only calls of this execution.")
    ] = None,
    external: Annotated[
        str | None, typer.Option("--external-id", metavar="ID", help="Only calls with this external id.")
    ] = None,
    label: Labels = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="RFC 3339, or 15m, 2h, 3d ago.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="RFC 3339, or 15m, 2h, 3d ago.")] = None,
    include: Annotated[str | None, typer.Option("--include", help="Large fields to add: arguments,output.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: All = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List calls, newest first."""
    from toolbus.cli.times import moment
    from toolbus.client.requests.calls import list_calls

    given: dict[str, object] = {
        "status": status,
        "tool": tool,
        "type": kind,
        "execution_id": execution,
        "external_id": external,
        "labels": pairs(label, "--label"),
        "since": moment(since, "--since"),
        "until": moment(until, "--until"),
        "include": include.split(",") if include else None,
    }
    asked: CallFilter = {name: value for name, value in given.items() if value}  # type: ignore[assignment]  # as the literal above
    with connected(url) as client:
        if every:
            show_items(client.calls(**asked), output, _columns())
        else:
            show_page(client.fetch(list_calls(asked, limit, cursor)), output, _columns())


@app.command("show")
def show(*, call_id: CallId, wait: Wait = None, output: Output = TABLE, url: Url = None) -> None:
    """Show a call. With --wait: as it stands at its end, and exit by its outcome."""
    from toolbus.client.failures import not_succeeded

    with connected(url) as client, waiting(f"{printable(call_id)} …"):
        found = client.get(call_id, wait=wait or 0.0)
    show_one(found, output, show_call)
    failure = not_succeeded(found)
    if failure is not None and wait is not None:
        raise failure


@app.command("settle")
def settle(
    *,
    call_id: CallId,
    outcome: Annotated[Outcome, typer.Option("--outcome", help="What really happened; retry lets it run again.")],
    note: Annotated[str, typer.Option("--note", help="How you know; it is recorded.")],
    result: Annotated[
        str | None, typer.Option("--result", metavar="JSON", help="The output, when it succeeded.")
    ] = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Say what really happened to a call in doubt (scope operate)."""
    from toolbus.cli.arguments import json_option

    given = json_option(result, "--result")
    with connected(url) as client:
        found = client.settle(call_id, outcome.value, note=note, output=given)
    show_one(found, output, show_call)


@app.command("cancel")
def cancel(
    *,
    call_id: CallId,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded.")] = "",
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Ask for a call to be stopped."""
    with connected(url) as client:
        found = client.cancel(call_id, reason)
    show_one(found, output, show_call)


def _columns() -> "list[Column[CallView]]":
    return [
        Column("CALL", lambda call: call.id),
        Column("STATUS", lambda call: call.status, style=lambda call: STYLES.get(call.status, "")),
        Column("AGE", lambda call: age(call.requested_at)),
        Column("TOOL", lambda call: call.tool, may_shrink=True),
    ]


def show_call(call: "CallView") -> None:
    """Draw a call for people: name and value of what is known of it."""
    from rich.text import Text

    took = "" if call.finished_at is None else duration((call.finished_at - call.requested_at).total_seconds())
    show_fields(
        [
            ("call", call.id),
            ("status", Text(call.status, style=STYLES.get(call.status, ""))),
            ("why", call.why),
            ("tool", call.tool + (f"@{call.tool_version}" if call.tool_version else "")),
            ("effect", f"{call.contract.effect}, {call.contract.idempotency}"),
            ("execution", call.execution_id),
            ("external id", call.external_id),
            ("attempts", call.attempt),
            ("requested", time_of_day(call.requested_at)),
            ("by", call.actor.subject),
            ("finished", f"{time_of_day(call.finished_at)} after {took}" if took else None),
            ("labels", ", ".join(f"{name}={value}" for name, value in call.labels.items())),
            ("waits for", f"{call.wait.kind} {call.wait.id}" if call.wait else None),
            *_error_fields(call),
            ("arguments", None if call.arguments is None else Text(json_text(call.arguments, 2))),
            ("output", None if call.output is None else Text(json_text(call.output, 2))),
        ]
    )


def _error_fields(call: "CallView") -> list[tuple[str, object]]:
    error = call.error
    if error is None:
        return []
    happened = {
        "no": "the effect did not happen",
        "yes": "the effect happened",
        "unknown": "nobody knows whether the effect happened",
    }
    return [
        ("error", f"{error.message} ({error.code}); {happened[error.effect_happened]}"),
        *(("", f"{detail.path or '/'}: {detail.message}") for detail in error.details),
        ("answer", f"HTTP {error.response.status_code}: {error.response.body_excerpt}" if error.response else None),
    ]
