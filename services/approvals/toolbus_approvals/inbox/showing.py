"""From waits to what the templates show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from toolbus_approvals.inbox.requests import RequestShown, request_of
from toolbus_approvals.inbox.values import DiffLine, Shown, compare, for_editing, is_moved, show, summary
from toolbus_contracts.keys import Actor
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import Json
from toolbus_contracts.waits import Wait
from toolbus_contracts.work import PAYLOAD_KEY


@dataclass(frozen=True)
class Risk:
    """What the effect of a call is, in a word, a sign and a sentence: never by colour alone."""

    name: str
    sign: str
    meaning: str


RISKS: Final = {
    "read": Risk("read", "○", "It reads and changes nothing."),
    "write": Risk("write", "◇", "It changes something."),
    "external": Risk("external", "◆", "It acts on the world outside."),
    "dangerous": Risk(
        "dangerous", "⚠", "It is dangerous: its owner says that it must not run without somebody's word."
    ),
}
KINDS: Final = {
    "approval": "Approval",
    "function": "Client function",
    "input": "Input",
    "doubt": "In doubt",
}
TASKS: Final = {
    "approval": "Approve or deny",
    "function": "Say what it came to",
    "input": "Supply values",
    "doubt": "Settle what happened",
}


@dataclass(frozen=True)
class Row:
    """One line of the list."""

    id: str
    kind: str
    kind_name: str
    task: str
    tool: str
    risk: Risk
    requester: str
    on_behalf_of: str
    opened_at: datetime
    expires_at: datetime | None
    summary: str
    digest: str
    may_choose: bool
    agreed: int
    quorum: int


def row_of(wait: Wait) -> Row:
    """Show a wait on one line."""
    quorum = wait.approval.quorum if wait.approval else 1
    return Row(
        id=wait.id,
        kind=wait.kind,
        kind_name=KINDS[wait.kind],
        task=TASKS[wait.kind],
        tool=wait.tool,
        risk=RISKS[wait.terms.effect],
        requester=wait.requester.subject,
        on_behalf_of=wait.requester.on_behalf_of or "",
        opened_at=wait.opened_at,
        expires_at=wait.expires_at,
        summary=summary(wait.arguments),
        digest=wait.digest,
        may_choose=wait.kind == "approval" and wait.is_open and not wait.answers,  # those are on its own page alone
        agreed=len({decision.subject for decision in wait.decisions if decision.decision == "approve"}),
        quorum=quorum,
    )


@dataclass(frozen=True)
class EditShown:
    """What a person made of the arguments, compared with what they were before; `lines` none: too much to show."""

    subject: str
    note: str
    at: datetime
    digest: str
    lines: tuple[DiffLine, ...] | None


def edits_of(wait: Wait) -> tuple[EditShown, ...]:
    """The edits of a wait, oldest first."""
    found: list[EditShown] = []
    before = wait.proposed
    for edit in wait.edits:
        lines = compare(before, edit.arguments)
        found.append(EditShown(edit.subject, edit.note, edit.at, edit.digest, lines))
        before = edit.arguments
    return tuple(found)


@dataclass(frozen=True)
class Approving:
    """Who has to agree, and who did."""

    may_decide: tuple[str, ...]
    requester_may: bool
    may_edit: bool
    edit_text: str
    missing: int


@dataclass(frozen=True)
class Detail:
    """One wait with all that is known about it; `answers`: what a server that has begun is told."""

    row: Row
    wait: Wait
    arguments: Shown
    answers: Shown | None
    large: tuple[tuple[str, Shown], ...]
    request: RequestShown | None
    edits: tuple[EditShown, ...]
    approving: Approving | None
    command: str
    requester: Actor


@dataclass(frozen=True)
class Large:
    """Values that arguments refer to: how each begins, by its field, and by digest those that there is room for."""

    shown: Mapping[str, Shown] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)


NOTHING_LARGE: Final = Large()


def detail_of(
    wait: Wait, definition: ToolDefinition | None, large: Large = NOTHING_LARGE, *, user_agent: str
) -> Detail:
    """Show a wait with its request, which this user agent sends."""
    row = row_of(wait)
    return Detail(
        row=row,
        wait=wait,
        arguments=show(wait.arguments),
        answers=show(wait.answers) if wait.answers else None,
        large=tuple(large.shown.items()),
        request=request_of(definition, wait, large.values, user_agent=user_agent),
        edits=edits_of(wait),
        approving=_approving(wait, row),
        command=_command(wait),
        requester=wait.requester,
    )


def _approving(wait: Wait, row: Row) -> Approving | None:
    if wait.approval is None:
        return None
    may_edit = wait.approval.may_edit and not is_moved(wait.arguments)
    return Approving(
        may_decide=(*wait.approval.approvers, *wait.escalated_to),
        requester_may=wait.approval.requester_may_approve,
        may_edit=may_edit,
        edit_text=for_editing(wait.arguments) if may_edit else "",
        missing=max(0, row.quorum - row.agreed),
    )


def _command(wait: Wait) -> str:
    """What does the same on the command line, for whoever's key may not do it here."""
    match wait.kind:
        case "doubt":
            return f"toolbus calls settle {wait.call_id} --outcome succeeded --note '…'"
        case "function":
            return f"toolbus calls complete {wait.call_id} --result '…'"
        case _:
            return f"toolbus waits show {wait.id}"


def references_in(arguments: Json) -> dict[str, str]:
    """Which fields are references, and to which digest; a name that no field can have stands for the whole."""
    if not isinstance(arguments, Mapping):
        return {}
    if isinstance(digest := arguments.get(PAYLOAD_KEY), str):
        return {"(all arguments)": digest}
    return {
        name: part[PAYLOAD_KEY]
        for name, part in arguments.items()
        if isinstance(part, Mapping) and isinstance(part.get(PAYLOAD_KEY), str)
    }
