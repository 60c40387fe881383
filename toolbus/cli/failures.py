"""What an error comes to: a message that says what to do next, and an exit code."""

from toolbus.cli.output import Format, chosen, console, note
from toolbus.cli.text import json_text, printable
from toolbus_contracts.errors import CODES, ToolbusError

FAILED, USAGE, NOT_FOUND, NOT_ALLOWED, CONFLICT, INTEGRITY = 1, 2, 3, 4, 5, 6
UNAVAILABLE, TRY_AGAIN, INTERRUPTED = 69, 75, 130
_BY_STATUS = {
    401: NOT_ALLOWED,
    403: NOT_ALLOWED,
    404: NOT_FOUND,
    409: CONFLICT,
    412: CONFLICT,
    429: TRY_AGAIN,
    502: UNAVAILABLE,
    503: UNAVAILABLE,
    504: UNAVAILABLE,
}
FIRST_ERROR, FIRST_FAULT = 400, 500
_BY_FIELD = "named in errors"  # the member of a problem document; people see the faults above


def exit_code_of(error: ToolbusError) -> int:
    """The exit code that the table of codes gives, else one that fits the HTTP status."""
    from toolbus.client.failures import CLIENT_CODES

    known = CODES.get(error.code) or CLIENT_CODES.get(error.code)
    if known is not None:
        return known.exit_code
    status = error.status
    return _BY_STATUS.get(status, USAGE if FIRST_ERROR <= status < FIRST_FAULT else FAILED)


def tell(error: ToolbusError) -> None:
    """Tell an error on stderr: for people, or as one line of JSON when -o asked for JSON."""
    if chosen() is not Format.table:
        console(to_stderr=True).print(json_text(problem(error)), soft_wrap=True)
        return
    from rich.text import Text

    shown = console(to_stderr=True)
    told = Text.assemble(("error: ", "bold red"), printable(error.message), (f"  ({printable(error.code)})", "dim"))
    shown.print(told, soft_wrap=True)
    for fault in error.faults:
        shown.print(Text(f"  {printable(fault.path or '/')}: {printable(fault.message)}"), soft_wrap=True)
    named = next_step(error)
    if _BY_FIELD in named:
        named = named.replace(_BY_FIELD, "named above") if error.faults else ""
    for step in (named, command_for(error)):
        if step:
            shown.print(Text(f"→ {printable(step)}", style="cyan"), soft_wrap=True)


def problem(error: ToolbusError) -> dict[str, object]:
    """An error in the shape of a problem document, with its exit code."""
    known = CODES.get(error.code)
    told: dict[str, object] = {
        "title": known.title if known else error.code,
        "status": error.status,
        "detail": error.message,
        "code": error.code,
        "next_step": next_step(error),
        "errors": [{"path": fault.path, "message": fault.message} for fault in error.faults],
        "exit_code": exit_code_of(error),
    }
    call = getattr(error, "call", None)
    call_id = call.id if call is not None else getattr(error, "call_id", None)
    return told if call_id is None else {**told, "call_id": call_id}


def next_step(error: ToolbusError) -> str:
    """What to do next."""
    named = getattr(error, "next_step", None)
    known = CODES.get(error.code)
    return str(named) if named is not None else (known.next_step if known else "")


def command_for(error: ToolbusError) -> str:
    """The command that goes on from here, where a call is behind the error."""
    call = getattr(error, "call", None)
    if call is None:
        return ""
    match error.code:
        case "in_doubt":
            return f"toolbus calls settle {call.id} --outcome succeeded|failed|retry --note TEXT"
        case "call_parked" if call.wait is not None:
            return f"toolbus waits show {call.wait.id}"
        case "call_open" | "call_parked":
            return f"toolbus calls show {call.id} --wait 60"
        case _:
            return f"toolbus calls show {call.id}"


def tell_interrupted() -> None:
    """Tell that Ctrl-C ended the command."""
    note("interrupted", "dim")
