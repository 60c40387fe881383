"""What is told of an import, row by row: models, which the command line loads when it has something to tell."""

from typing import Literal

from toolbus_contracts.values import Message


class ImportedOperation(Message):
    """What an operation of a document came to: a tool, or none, and why."""

    operation: str
    method: str
    path: str
    outcome: Literal["created", "updated", "unchanged", "refused", "skipped"]
    tool: str | None = None
    version: int | None = None
    notes: tuple[str, ...] = ()


class ImportedTool(Message):
    """What a tool of a server came to: under which name it can be called, or why it cannot. `hints` are claims."""

    tool: str
    name: str
    outcome: Literal["created", "updated", "unchanged", "refused"]
    version: int | None = None
    hints: str = ""
    reason: str = ""
