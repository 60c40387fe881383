"""Answers of the HTTP API that are not among the shared contracts."""

from datetime import datetime
from typing import Literal

from toolbus_contracts.keys import Scope
from toolbus_contracts.tools import ToolView
from toolbus_contracts.values import Json, Message


class EventView(Message):
    """One event of the log as people see it. `position` is its place in the whole log."""

    position: int
    id: str
    kind: str
    category: str
    subject_id: str
    version: int
    data: Json
    actor: Json
    correlation_id: str
    causation_id: str
    recorded_at: datetime
    hash: str


class AppliedTool(ToolView):
    """What registering a definition came to: `unchanged` when the newest version says the same already."""

    outcome: Literal["created", "updated", "unchanged"]


class Me(Message):
    """Who the key stands for and what it may do."""

    tenant: str
    subject: str
    roles: tuple[str, ...]
    scopes: tuple[Scope, ...]
    key_id: str | None


class Check(Message):
    """One thing that must hold for the server to be ready."""

    name: str
    ok: bool
    detail: str = ""
    hint: str | None = None


class Readiness(Message):
    """Whether the server takes work, and why not."""

    ready: bool
    checks: tuple[Check, ...]
