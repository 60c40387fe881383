"""Decide what an answer means: the values that a person supplies, and what a client's function came to."""

from toolbus_approvals.core.late import is_over, late, must_be, must_match
from toolbus_approvals.core.opening import digest_with
from toolbus_contracts.calls import CallError
from toolbus_contracts.digests import fingerprint
from toolbus_contracts.errors import Conflict, Fault, Refused
from toolbus_contracts.tools import AskUser, JsonObject
from toolbus_contracts.values import Json, compact
from toolbus_contracts.waits import AnswerWait, AnyWaitEvent, CompleteCall, Spoken, Wait, WaitClosed

Events = tuple[AnyWaitEvent, ...]
MAX_ANSWERS_BYTES = 16 * 1024  # for a server, in one round: those of all rounds travel with the work


def answer_schema(ask_user: AskUser) -> JsonObject:
    """What the values of an answer must fit, as JSON Schema: the fields that were asked for, and no other."""
    required = ask_user.fields if ask_user.required is None else ask_user.required
    return {
        "type": "object",
        "properties": ask_user.fields,
        "required": list(required),
        "additionalProperties": False,
    }


def merged(arguments: Json, values: JsonObject) -> JsonObject:
    """The arguments of a call with what a person supplied laid over them."""
    return {**arguments, **values} if isinstance(arguments, dict) else values


def decide_answer(
    command: AnswerWait,
    wait: Wait,
    who: Spoken,
    *,
    faults: tuple[Fault, ...],
    tenant: str,
    arguments: Json = None,
) -> Events:
    """
    Take the values that a person supplies, which ends the wait; the same answer of the same person adds nothing.

    `faults` is what is wrong with the values by `answer_schema`. `arguments` are the ones that the call goes on with,
    where they are not simply those of the wait with the values over them: large ones rest elsewhere. What a server asks
    changes no argument: the values are for it.

    Raises:
        Refused: `invalid_request`, with the paths; `body_too_large`, more than a server is told.
        Conflict: `digest_mismatch`; `wrong_wait_kind`.
    """
    must_be(wait, "input")
    if wait.is_from_server:
        closed = _told(command, wait, who)
    else:
        closed = _completed(command, wait, who, tenant=tenant, arguments=arguments)
    if command.digest == wait.digest and _is_answered(wait, closed):
        return ()
    if is_over(wait, who.at):
        return late(wait, who, "answer", "")
    must_match(wait, command.digest)
    if faults:
        raise Refused("invalid_request", f"the values do not fit: {faults[0].message}", faults)
    if wait.is_from_server and len(compact(command.values).encode()) > MAX_ANSWERS_BYTES:
        raise Refused("body_too_large", f"a server is told at most {MAX_ANSWERS_BYTES} bytes")
    return (closed,)


def _completed(command: AnswerWait, wait: Wait, who: Spoken, *, tenant: str, arguments: Json) -> WaitClosed:
    """The end of a wait whose values complete the arguments, which make another digest."""
    found = merged(wait.arguments, command.values) if arguments is None else arguments
    return WaitClosed(
        wait_id=wait.id,
        call_id=wait.call_id,
        wait_kind=wait.kind,
        outcome="answered",
        digest=digest_with(wait, tenant, found),
        arguments=found,
        by=(who.subject,),
        at=who.at,
    )


def _told(command: AnswerWait, wait: Wait, who: Spoken) -> WaitClosed:
    """The end of a wait whose values are for the server that asked."""
    return WaitClosed(
        wait_id=wait.id,
        call_id=wait.call_id,
        wait_kind=wait.kind,
        outcome="answered",
        digest=wait.digest,
        answers=command.values,
        by=(who.subject,),
        at=who.at,
    )


def _is_answered(wait: Wait, answer: WaitClosed) -> bool:
    """Whether the wait was closed by this person with these values already: by their digest, or their text."""
    closed = wait.closed
    if closed is None or (closed.outcome, closed.by, closed.digest) != (answer.outcome, answer.by, answer.digest):
        return False
    return fingerprint(closed.answers) == fingerprint(answer.answers)


def decide_complete(command: CompleteCall, wait: Wait, who: Spoken) -> Events:
    """
    Take what a client's function came to, once; the same answer again adds nothing, whoever gives it.

    Raises:
        Conflict: `answer_taken`, another answer was; `wrong_wait_kind`.
    """
    must_be(wait, "function")
    answer = _answer(command, wait, who)
    if wait.closed is not None and wait.closed.outcome in {"completed", "failed"}:
        if _meaning(wait.closed) == _meaning(answer):
            return ()
        raise Conflict("answer_taken", f"call {wait.call_id} {wait.closed.outcome} with another answer")
    if is_over(wait, who.at):
        return late(wait, who, "complete", "")
    return (answer,)


def _answer(command: CompleteCall, wait: Wait, who: Spoken) -> WaitClosed:
    error = command.error
    return WaitClosed(
        wait_id=wait.id,
        call_id=wait.call_id,
        wait_kind=wait.kind,
        outcome="completed" if error is None else "failed",
        digest=wait.digest,
        output=command.output,
        # A client that reports an error may have done its part or not: it does not say.
        error=None if error is None else CallError(code=error.code, message=error.message, effect_happened="unknown"),
        by=(who.subject,),
        at=who.at,
    )


def _meaning(closed: WaitClosed) -> tuple[str, str, CallError | None]:
    """What two answers have in common when they are one; by text, because Python holds 1, 1.0 and true to be equal."""
    return closed.outcome, fingerprint(closed.output), closed.error
