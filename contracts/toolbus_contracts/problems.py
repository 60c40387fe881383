"""How a refusal is told: one shape (RFC 9457) for HTTP, ask and refusal events."""

from toolbus_contracts.calls import Call
from toolbus_contracts.errors import CODES, Fault, ToolbusError
from toolbus_contracts.values import MAX_FAULTS, Json

MAX_TEXT_CHARS = 1000  # what is told of somebody's input must not grow with it
_UNREADABLE = 422


def problem(error: ToolbusError, *, instance: str | None = None, call_id: str | None = None) -> dict[str, Json]:
    """Tell an error as problem details. Source: RFC 9457 §3."""
    return _problem(error.code, error.message, error.faults, instance=instance, call_id=call_id)


def problem_of_call(call: Call) -> dict[str, Json] | None:
    """The problem of a call that was refused; none for every other call."""
    if call.status != "refused" or call.error is None:
        return None
    inside = "/arguments" if call.error.code == "invalid_arguments" else ""
    faults = tuple(Fault(inside + one.path, one.message) for one in call.error.details)
    return _problem(call.error.code, call.error.message, faults, call_id=call.id)


def _problem(
    code: str, detail: str, faults: tuple[Fault, ...], *, instance: str | None = None, call_id: str | None = None
) -> dict[str, Json]:
    meaning = CODES[code]
    told: dict[str, Json] = {
        "type": f"urn:toolbus:problem:{code}",
        "title": meaning.title,
        "status": meaning.status,
        "detail": detail[:MAX_TEXT_CHARS],
        "code": code,
        "next_step": meaning.next_step,
    }
    if not faults and meaning.status == _UNREADABLE:
        faults = (Fault("", detail),)  # the whole input
    if faults:
        told["errors"] = [{"path": path, "message": message[:MAX_TEXT_CHARS]} for path, message in faults[:MAX_FAULTS]]
    if instance is not None:
        told["instance"] = instance
    if call_id is not None:
        told["call_id"] = call_id
    return told
