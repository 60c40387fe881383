"""What people do at the page. Every answer is a redirect (POST, redirect, GET), or the page with what is wrong."""

from collections.abc import Awaitable, Callable

from fastapi import Request, Response

from toolbus_approvals.inbox.forms import Form, values_in
from toolbus_approvals.inbox.guarding import Visitor, posted
from toolbus_approvals.inbox.parts import has_scope, parts_of, spoken
from toolbus_approvals.inbox.reading import (
    COMPLETE_SCOPES,
    MAX_ROWS,
    SETTLE_SCOPES,
    allowed_wait,
    done,
    list_url,
    show_wait,
)
from toolbus_approvals.inbox.values import compare
from toolbus_contracts.calls import SettleDoubt
from toolbus_contracts.errors import Fault, NotAllowed, ToolbusError, Unreadable
from toolbus_contracts.tools import AskUser
from toolbus_contracts.values import Json, parse_json
from toolbus_contracts.waits import AnswerWait, ApproveWait, CompleteCall, DenyWait, Wait
from toolbus_runtime.commands import parsed

ENDS = {
    "approved": "it was approved",
    "denied": "it was denied",
    "answered": "it was answered",
    "completed": "it was completed",
    "failed": "it was completed with an error",
    "expired": "its time was over",
    "withdrawn": "it is not needed any more",
}
Act = Callable[[Request, Visitor, Wait, Form], Awaitable[str]]


async def _acted(request: Request, act: Act) -> Response:
    """Do it and go back to the list; a refusal is shown on the page of the wait, with what was typed."""
    who, form = await posted(request)
    return await _acted_with(request, who, form, act)


async def _acted_with(request: Request, who: Visitor, form: Form, act: Act) -> Response:
    wait = await allowed_wait(request, who)
    try:
        text = await act(request, who, wait, form)
    except ToolbusError as error:
        now = await allowed_wait(request, who)
        return await show_wait(request, who, now, error=error, sent=form, status_code=error.status)
    return done(request, "/", text)


def _ended(wait: Wait, otherwise: str) -> str:
    """How it stands after somebody spoke."""
    if wait.closed is None:
        return f"{wait.tool}: {otherwise}"
    return f"{wait.tool}: {ENDS[wait.closed.outcome]}"


async def approve(request: Request) -> Response:
    """Agree to what is shown."""
    return await _acted(request, _approve)


async def _approve(request: Request, who: Visitor, wait: Wait, form: Form) -> str:
    command = parsed(ApproveWait, {"digest": form.one("digest"), "note": form.one("note")})
    return await _agree(request, who, wait, command)


async def _agree(request: Request, who: Visitor, wait: Wait, command: ApproveWait) -> str:
    parts = parts_of(request)
    after = await parts.desk.approve(who.tenant, wait.id, command, spoken(who.key, parts.clock()))
    agreed = len({decision.subject for decision in after.decisions if decision.decision == "approve"})
    quorum = after.approval.quorum if after.approval else 1
    return _ended(after, f"recorded; {agreed} of {quorum} agreed, others still have to")


async def deny(request: Request) -> Response:
    """Say no, and why."""
    return await _acted(request, _deny)


async def _deny(request: Request, who: Visitor, wait: Wait, form: Form) -> str:
    parts = parts_of(request)
    command = _denial(form.one("digest"), form.one("note"))
    return _ended(await parts.desk.deny(who.tenant, wait.id, command, spoken(who.key, parts.clock())), "recorded")


def _denial(digest: str, note: str) -> DenyWait:
    if not note:
        message = "say why: whoever asked for the call is told"
        raise Unreadable("invalid_request", message, (Fault("/note", message),))
    return parsed(DenyWait, {"digest": digest, "note": note})


async def edit(request: Request) -> Response:
    """Change the arguments and agree to that; or (`preview`) see first what would change."""
    who, form = await posted(request)
    if form.one("preview"):
        return await _preview(request, who, form)
    return await _acted_with(request, who, form, _edit)


async def _preview(request: Request, who: Visitor, form: Form) -> Response:
    wait = await allowed_wait(request, who)
    try:
        lines = compare(wait.arguments, _object(form, "arguments"))
    except ToolbusError as error:
        return await show_wait(request, who, wait, error=error, sent=form, status_code=error.status)
    return await show_wait(request, who, wait, sent=form, preview=lines)


async def _edit(request: Request, who: Visitor, wait: Wait, form: Form) -> str:
    told = {"digest": form.one("digest"), "note": form.one("note"), "arguments": _object(form, "arguments")}
    return await _agree(request, who, wait, parsed(ApproveWait, told))


def _json(form: Form, name: str) -> Json:
    text = form.raw(name)
    try:
        return parse_json(text.encode())
    except ToolbusError as error:
        raise Unreadable(error.code, f"{name}: {error.message}", error.faults) from error


def _object(form: Form, name: str) -> dict[str, Json]:
    value = _json(form, name)
    if not isinstance(value, dict):
        raise Unreadable("invalid_request", f"{name} must be a JSON object", (Fault(f"/{name}", "not an object"),))
    return value


async def answer(request: Request) -> Response:
    """Supply the values that the call asks for."""
    return await _acted(request, _answer)


async def _answer(request: Request, who: Visitor, wait: Wait, form: Form) -> str:
    parts = parts_of(request)
    values = values_in(form, wait.ask_user or AskUser(fields={"value": {}}))
    command = parsed(AnswerWait, {"digest": form.one("digest"), "values": values})
    return _ended(await parts.desk.answer(who.tenant, wait.id, command, spoken(who.key, parts.clock())), "recorded")


async def complete(request: Request) -> Response:
    """Say what a client's function came to."""
    return await _acted(request, _complete)


async def _complete(request: Request, who: Visitor, wait: Wait, form: Form) -> str:
    parts = parts_of(request)
    if not has_scope(who.key, *COMPLETE_SCOPES):
        raise NotAllowed("this key lacks the scope work")
    told: dict[str, Json] = (
        {"error": {"message": form.one("message")}} if form.one("outcome") == "failed" else {"output": _output(form)}
    )
    command = parsed(CompleteCall, told)
    after = await parts.desk.complete(who.tenant, wait.call_id, command, spoken(who.key, parts.clock()))
    return _ended(after, "recorded")


def _output(form: Form) -> Json:
    return _json(form, "output") if form.one("output") else None


async def settle(request: Request) -> Response:
    """Say what really happened to a call in doubt."""
    return await _acted(request, _settle)


async def _settle(request: Request, who: Visitor, wait: Wait, form: Form) -> str:
    parts = parts_of(request)
    if parts.settle is None or not has_scope(who.key, *SETTLE_SCOPES):
        raise NotAllowed("this key lacks the scope operate")
    told = {"call_id": wait.call_id, "outcome": form.one("outcome"), "note": form.one("note"), "output": _output(form)}
    await parts.settle(who.tenant, parsed(SettleDoubt, told), who.key)
    return f"{wait.tool}: settled as {form.one('outcome')}"


async def decide(request: Request) -> Response:
    """Approve or deny several at once, each by the digest that was shown beside it."""
    who, form = await posted(request)
    where = list_url(form.one("before"))
    chosen = [text.partition(" ")[::2] for text in form.many("wait")[:MAX_ROWS]]
    decision, note = form.one("decision"), form.one("note")
    if not chosen or decision not in {"approve", "deny"}:
        return done(request, where, "Nothing was chosen.", "warning")
    told: dict[bool, list[str]] = {True: [], False: []}
    for wait_id, digest in chosen:
        said = {"digest": digest, "note": note}
        is_done, text = await _decide_one(request, who, wait_id, said=said, decision=decision)
        told[is_done].append(text)
    text = " · ".join([*told[False], *told[True]])
    return done(request, where, f"{len(told[True])} done, {len(told[False])} not. {text}"[:1500], _kind(told))


def _kind(told: dict[bool, list[str]]) -> str:
    return "warning" if told[False] else "ok"


async def _decide_one(
    request: Request, who: Visitor, wait_id: str, *, said: dict[str, str], decision: str
) -> tuple[bool, str]:
    """One of several: what is wrong with it stops none of the others."""
    parts = parts_of(request)
    try:
        wait = await parts.desk.wait(who.tenant, wait_id)
        if not who.key.may_call(wait.tool):
            raise NotAllowed("this key may not speak about this tool")
        if decision == "approve":
            return True, await _agree(request, who, wait, parsed(ApproveWait, said))
        command = _denial(said["digest"], said["note"])
        after = await parts.desk.deny(who.tenant, wait_id, command, spoken(who.key, parts.clock()))
    except ToolbusError as error:
        return False, f"{wait_id[:13]}…: {error.message}"
    return True, _ended(after, "recorded")
