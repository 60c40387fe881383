"""
Everything that a client raises on purpose.

    ToolbusError
    └── ClientError              code, message, details, next_step
        ├── NoServer             nothing says where the server is, or which key to use
        ├── Unreachable          no answer came, also after repeating
        ├── UnexpectedAnswer     something answered that does not speak like this version of Toolbus
        ├── Problem              the server said no; with status, instance and call_id
        │   ├── Invalid          the request is not right: mend it (400, 405, 413, 422)
        │   ├── NotAllowed       no valid key, or one without the scope (401, 403)
        │   ├── NotFound         no such thing for this tenant (404)
        │   ├── Conflict         true for another state of the thing (409, 412)
        │   ├── Unavailable      come back after retry_after_s seconds (429, 503)
        │   └── ServerFault      a fault of the server (other 5xx)
        └── NotSucceeded         there is no output; with the call as it stands
            ├── CallFailed       it ended: failed, refused, denied, cancelled or expired
            ├── CallInDoubt      its effect may or may not have happened; do not simply repeat it
            ├── CallParked       it waits for somebody: an approval, a function, an input
            └── CallStillOpen    the time given to waiting is over; the call goes on

`details` names what is wrong with an input, `[{path, message}]`; `next_step` says what to do.
"""

from toolbus_contracts.calls import TERMINAL, CallView
from toolbus_contracts.errors import CODES, Code, Fault, ToolbusError

# Codes that never cross HTTP: they tell what a client found out by itself (status 0).
CLIENT_CODES: dict[str, Code] = {
    "no_server": Code(0, 2, "No server is known", "Run `toolbus up` here, or set TOOLBUS_URL and TOOLBUS_API_KEY."),
    "unreachable": Code(0, 69, "The server does not answer", "Check the address, and that `toolbus up` runs there."),
    "unexpected_answer": Code(0, 1, "Not an answer of Toolbus", "Check the address and the versions of both sides."),
    "in_doubt": Code(0, 1, "Nobody knows whether the effect happened", "Find out, then settle the call."),
    "call_parked": Code(0, 75, "The call waits for somebody", "Answer the wait, or look again later."),
    "call_open": Code(0, 75, "The call is not done yet", "Wait for the same call again; do not submit another."),
}


def code_of(name: str) -> Code | None:
    """What is known about a code; a newer server may use one that this client has never heard of."""
    return CODES.get(name) or CLIENT_CODES.get(name)


class ClientError(ToolbusError):
    """Root of what a client raises. `next_step` says what to do, `details` what is wrong with an input."""

    def __init__(self, code: str, message: str, details: tuple[Fault, ...] = (), next_step: str | None = None) -> None:
        super().__init__(code, message, details)
        known = code_of(code)
        self.next_step = next_step if next_step is not None else (known.next_step if known else "")

    @property
    def details(self) -> tuple[Fault, ...]:
        """What is wrong with an input: path and message of each fault."""
        return self.faults

    @property
    def status(self) -> int:
        """The HTTP status behind this error, or 0 when none was received."""
        known = code_of(self.code)
        return known.status if known else 0

    def __str__(self) -> str:
        told = [self.message, *(f"  {fault.path or '/'}: {fault.message}" for fault in self.faults)]
        return "\n".join([*told, *([f"→ {self.next_step}"] if self.next_step else [])])


class NoServer(ClientError):
    """Nothing says where the server is, or which key opens it."""

    def __init__(self, message: str, next_step: str | None = None) -> None:
        super().__init__("no_server", message, (), next_step)


class Unreachable(ClientError):
    """No answer came. `may_have_arrived`: the request may have had its effect all the same."""

    def __init__(self, message: str, *, may_have_arrived: bool = False) -> None:
        super().__init__("unreachable", message)
        self.may_have_arrived = may_have_arrived


class UnexpectedAnswer(ClientError):
    """Something answered that does not speak like this version of Toolbus."""

    def __init__(self, message: str) -> None:
        super().__init__("unexpected_answer", message)


class Problem(ClientError):
    """The server said no. Source: RFC 9457."""

    def __init__(
        self,
        code: str,
        message: str,
        details: tuple[Fault, ...] = (),
        next_step: str | None = None,
        *,
        http_status: int,
        instance: str | None = None,
        call_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(code, message, details, next_step)
        self.http_status = http_status
        self.instance = instance
        self.call_id = call_id
        self.retry_after_s = retry_after_s

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self.http_status


class Invalid(Problem):
    """The request is not right; see `details`."""


class NotAllowed(Problem):
    """No valid key was sent, or one that may not do this."""


class NotFound(Problem):
    """There is no such thing for the tenant of this key."""


class Conflict(Problem):
    """The request was right for another state of the thing."""


class Unavailable(Problem):
    """A part that is needed is away, or too much was asked; come back after `retry_after_s` seconds."""


class ServerFault(Problem):
    """A fault of the server; `instance` names the occurrence for a report."""


def problem_class(status: int) -> type[Problem]:
    """Choose the error for an HTTP status."""
    match status:
        case 401 | 403:
            return NotAllowed
        case 404:
            return NotFound
        case 409 | 412:
            return Conflict
        case 429 | 503:
            return Unavailable
        case _:
            return ServerFault if status >= 500 else Invalid  # noqa: PLR2004 - the first server error


class NotSucceeded(ClientError):
    """There is no output to hand out; `call` is the call as it stands."""

    def __init__(self, call: CallView, code: str, message: str, details: tuple[Fault, ...] = ()) -> None:
        super().__init__(code, message, details)
        self.call = call


class CallFailed(NotSucceeded):
    """The call ended without success: failed, refused, denied, cancelled or expired."""

    def __init__(self, call: CallView) -> None:
        error = call.error
        details = tuple(Fault(item.path, item.message) for item in error.details) if error else ()
        told = error.message if error else "no reason was given"
        super().__init__(call, error.code if error else call.status, f"{_name(call)} {call.status}: {told}", details)


class CallInDoubt(NotSucceeded):
    """The effect may or may not have happened; repeating it could do it twice."""

    def __init__(self, call: CallView) -> None:
        told = call.error.message if call.error else (call.why or "no answer came")
        super().__init__(call, "in_doubt", f"{_name(call)} is in doubt: {told}")


class CallParked(NotSucceeded):
    """The call stands still until somebody acts; `call.wait` says for whom and how long."""

    def __init__(self, call: CallView) -> None:
        told = call.why or f"waits for {call.wait.kind if call.wait else 'somebody'}"
        super().__init__(call, "call_parked", f"{_name(call)} {told}")


class CallStillOpen(NotSucceeded):
    """The time given to waiting is over; the call itself goes on."""

    def __init__(self, call: CallView) -> None:
        told = f": {call.why}" if call.why else ""
        super().__init__(call, "call_open", f"{_name(call)} is still {call.status}{told}")


def not_succeeded(call: CallView) -> NotSucceeded | None:
    """Tell why a call has no output to hand out, or nothing when it succeeded."""
    if call.status == "succeeded":
        return None
    if call.status in TERMINAL:
        return CallFailed(call)
    if call.status == "in_doubt":
        return CallInDoubt(call)
    return CallStillOpen(call) if is_moving(call) else CallParked(call)


def is_moving(call: CallView) -> bool:
    """True while the call goes on by itself: it neither ended nor waits for somebody."""
    return call.status not in TERMINAL and call.status not in {"in_doubt", "waiting"} and call.wait is None


def _name(call: CallView) -> str:
    return f"{call.tool} ({call.id})"
