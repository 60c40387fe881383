"""
Everything that can go wrong, with stable codes.

    ToolbusError
    ├── Refused        a rule says no: recorded as a refusal, answered 4xx, acknowledged
    │   ├── NotFound   there is no such thing for this tenant (404)
    │   ├── NotAllowed the key may not do this (401, 403)
    │   └── Conflict   true for another state of the thing (409)
    ├── Unreadable     a message that cannot be understood: 422, or buried on the bus
    ├── StreamMoved    somebody else appended first: decide afresh
    ├── BusRefused     the bus does not take this message or request: not allowed, too large, not wanted
    └── Unavailable    a dependency is away: answered 503, delivered again later

A code is never renamed: clients branch on it. `CODES` is the table that the documentation shows.
"""

from dataclasses import dataclass
from typing import NamedTuple


class Fault(NamedTuple):
    """One thing wrong with an input: JSON Pointer to it, and what is wrong."""

    path: str
    message: str


@dataclass(frozen=True)
class Code:
    """What a code means to each kind of caller: HTTP status, exit code of the CLI, what to do next."""

    status: int
    exit_code: int
    title: str
    next_step: str


CODES: dict[str, Code] = {
    "invalid_json": Code(422, 2, "Not JSON", "Send one JSON value in UTF-8."),
    "not_utf8": Code(422, 2, "Not UTF-8", "Encode the body as UTF-8."),
    "too_deep": Code(422, 2, "Nested too deeply", "Flatten the value to at most 64 levels."),
    "invalid_value": Code(422, 2, "A value is not allowed", "Mend the values named in errors."),
    "invalid_request": Code(422, 2, "The request does not fit its schema", "Mend the fields named in errors."),
    "invalid_cursor": Code(422, 2, "Unknown cursor", "Use next_cursor of the previous page unchanged."),
    "invalid_arguments": Code(422, 2, "The arguments do not fit the tool", "Mend the paths named in errors."),
    "invalid_definition": Code(422, 2, "The tool definition is not valid", "Mend the paths named in errors."),
    "unsupported_format": Code(422, 2, "No such format", "Use one of the formats named in the message."),
    "unsupported_type": Code(422, 2, "No executor serves this type of tool", "Use a tool of a type that is served."),
    "unknown_command": Code(422, 2, "No such command on the bus", "See the list of subjects in the documentation."),
    "body_too_large": Code(413, 2, "The body is too large", "Upload large values as payloads and refer to them."),
    "unauthenticated": Code(401, 4, "No valid key", "Send Authorization: Bearer with a key that is not revoked."),
    "forbidden": Code(403, 4, "The key may not do this", "Use a key with the scope named in the message."),
    "not_found": Code(404, 3, "No such thing", "Check the id and the tenant of your key."),
    "unknown_tool": Code(404, 3, "No such tool", "Register it, or list the tools you may call."),
    "method_not_allowed": Code(405, 2, "This method is not served here", "See the allow header."),
    "idempotency_key_reused": Code(409, 5, "The key belongs to another request", "Use a new key for a new request."),
    "definition_changed": Code(409, 5, "The tool is not the one you expected", "Read the tool again and decide anew."),
    "execution_finished": Code(409, 5, "The execution has ended", "Start another execution."),
    "call_ended": Code(409, 5, "The call has ended", "Read the call; its outcome stands."),
    "not_in_doubt": Code(409, 5, "The call is not in doubt", "Read the call; there is nothing to settle."),
    "not_an_approver": Code(403, 4, "You may not decide this", "Ask somebody whom the wait names in may_decide."),
    "edit_not_allowed": Code(403, 4, "The arguments may not be changed", "Approve them as they are, or deny."),
    "digest_mismatch": Code(409, 5, "It is not what you looked at any more", "Read the wait again and decide anew."),
    "wait_closed": Code(409, 5, "The wait is over", "Read the wait; what was decided stands."),
    "wrong_wait_kind": Code(409, 5, "The wait is of another kind", "Read the wait; its kind tells what it takes."),
    "answer_taken": Code(409, 5, "Another answer was taken", "Read the call; the first answer stands."),
    "lease_lost": Code(
        409, 5, "Another worker may have it", "Stop working on it, or complete it: the first answer counts."
    ),
    "webhook_disabled": Code(409, 5, "The webhook is disabled", "Enable it when its receiver works again."),
    "function_failed": Code(502, 1, "The client's function failed", "Read the message; the client wrote it."),
    "denied": Code(403, 4, "A person said no", "Read the note, and ask for something else."),
    "wait_expired": Code(504, 1, "Nobody answered in time", "Submit again, or ask somebody who has time."),
    "approval_void": Code(
        409, 5, "What was approved is not what would run", "Submit again; it is to be approved anew."
    ),
    "not_redrivable": Code(409, 5, "This letter cannot be redriven", "Read it, and mend what it tells of by hand."),
    "settled_failed": Code(409, 1, "Settled as failed", "Read the note of whoever settled it."),
    "probed_failed": Code(502, 1, "A probe found that it did not happen", "Submit again if it is still wanted."),
    "version_mismatch": Code(409, 5, "Changed by somebody else", "Read it again and repeat with its version."),
    "already_exists": Code(409, 5, "It exists with other content", "Use another name or id."),
    "busy": Code(503, 75, "Too many writers at once", "Repeat the same request after the time in Retry-After."),
    "unavailable": Code(503, 69, "A part that is needed is away", "Repeat after the time in Retry-After."),
    "internal": Code(500, 1, "A fault of ours", "Report it with the instance named in the answer."),
    "http_status": Code(502, 1, "The target answered with an error", "See response in the error of the call."),
    "response_invalid": Code(
        502, 1, "The answer does not fit its schema", "See details; mend the schema or the target."
    ),
    "response_too_large": Code(502, 1, "The answer is too large", "Raise max_output_bytes or ask for less."),
    "timeout": Code(504, 1, "No answer in time", "Raise timeout_s, or look at the target."),
    "connection_failed": Code(502, 1, "The target could not be reached", "Check the address; nothing was sent."),
    "connection_lost": Code(502, 1, "The connection broke before an answer", "Find out whether the effect happened."),
    "executor_lost": Code(502, 1, "The executor stopped during the attempt", "Find out whether the effect happened."),
    "request_invalid": Code(422, 1, "Definition and arguments make no valid request", "Mend what the message names."),
    "mcp_error": Code(502, 1, "The MCP server answered with an error", "Read the message; the server wrote it."),
    "tool_error": Code(502, 1, "The tool of the MCP server reports an error", "Read the message; the tool wrote it."),
    "input_required": Code(
        409, 1, "The MCP server wants what nobody can give it", "Give the tool what details name, if it takes it."
    ),
    "too_many_rounds": Code(
        409, 1, "The MCP server kept asking for more", "Read what it asked in the events of the call, then call again."
    ),
    "command_denied": Code(
        403, 4, "This command may not be run", "Ask the operator to allow it (TOOLBUS_MCP_STDIO_ALLOW)."
    ),
    "secret_unavailable": Code(409, 1, "A secret could not be resolved", "Store the secret, then call again."),
    "secret_not_allowed": Code(
        403, 4, "A secret may not be used like this", "See what it is bound to (toolbus secrets ls)."
    ),
    "redaction_failed": Code(
        500, 1, "What came back could not be searched for secrets", "Look at the target; what it said was dropped."
    ),
    "egress_denied": Code(
        403, 4, "The target may not be reached", "Ask the operator to allow it (TOOLBUS_EGRESS_ALLOW)."
    ),
    "provider_failed": Code(502, 1, "The provider could not do it", "Read the message; the provider wrote it."),
    "provider_missing": Code(409, 1, "The provider is not installed", "Install the extra that the message names."),
    "setup_invalid": Code(
        422, 2, "The setup does not fit the provider", "Mend the paths named in errors, or in details."
    ),
    "payload_missing": Code(
        502, 1, "A large value was lost on its way", "Send it again; nothing was sent to the target."
    ),
    "deadline_passed": Code(504, 1, "The deadline passed", "Submit again with a later deadline."),
    "cancelled": Code(409, 1, "The call was cancelled", "Submit again if it is still wanted."),
    "too_many_deliveries": Code(
        500, 1, "A message failed again and again", "Look into the dead letters (toolbus dead ls)."
    ),
    "refused_by_bus": Code(
        500, 1, "The bus does not take this message", "Look into the dead letters (toolbus dead ls)."
    ),
}


class ToolbusError(Exception):
    """Root of every error that Toolbus raises on purpose."""

    def __init__(self, code: str, message: str, faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.faults = faults

    @property
    def status(self) -> int:
        """The HTTP status that tells this error."""
        return CODES[self.code].status


class Refused(ToolbusError):
    """A rule says no."""


class NotFound(Refused):
    """There is no such thing for this tenant."""

    def __init__(self, message: str, code: str = "not_found") -> None:
        super().__init__(code, message)


class NotAllowed(Refused):
    """The key is missing, wrong, or lacks a scope."""

    def __init__(self, message: str, code: str = "forbidden") -> None:
        super().__init__(code, message)


class Conflict(Refused):
    """The request was right for another state of the thing."""


class Unreadable(ToolbusError):
    """A message that cannot be understood."""


class StreamMoved(ToolbusError):
    """Somebody else appended first and kept doing so."""

    def __init__(self, stream: str) -> None:
        super().__init__("busy", f"{stream} keeps moving; nothing was recorded")


class BusRefused(ToolbusError):
    """The bus said no for good: `reply_status` and `error_number` are JetStream's own, 0 when there is none."""

    def __init__(self, message: str, reply_status: int = 0, error_number: int = 0) -> None:
        super().__init__("refused_by_bus", message)
        self.reply_status = reply_status
        self.error_number = error_number


class Unavailable(ToolbusError):
    """A dependency is away; the same request may work after `retry_after_s` seconds."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__("unavailable", message)
        self.retry_after_s = retry_after_s
