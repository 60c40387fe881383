"""
Everything on the bus: subjects, streams, durables, and what each user may do with them.

The server enforces these permissions from the first start on: whoever forges an outcome, a work item
or another tenant's command is refused by NATS itself. All of it is data, so that the server
configuration, the documentation and the tests come from this one place.
"""

from toolbus_contracts.subjects.names import (
    ASK_COMPLETE,
    ASK_VERBS,
    CALL_COMMANDS,
    CHECK,
    DEFAULT_ROUTE,
    DESCRIBE,
    EXECUTOR_TYPES,
    MAX_MESSAGE_BYTES,
    MAX_TOKEN_CHARS,
    OUTCOME,
    PAYLOAD_BUCKET,
    PRIVATE_CATEGORIES,
    SETTLE,
    START,
    STOPPED,
    WAKE,
    ask,
    command,
    dead,
    event,
    payload_chunk,
    refusal,
    subject_token,
    tenant_of,
    work,
)
from toolbus_contracts.subjects.permissions import (
    BusUser,
    Permissions,
    client,
    users,
)
from toolbus_contracts.subjects.streams import (
    DURABLES,
    GIB,
    STREAMS,
    Durable,
    Stream,
    stream,
)

__all__ = [
    "ASK_COMPLETE",
    "ASK_VERBS",
    "CALL_COMMANDS",
    "CHECK",
    "DEFAULT_ROUTE",
    "DESCRIBE",
    "DURABLES",
    "EXECUTOR_TYPES",
    "GIB",
    "MAX_MESSAGE_BYTES",
    "MAX_TOKEN_CHARS",
    "OUTCOME",
    "PAYLOAD_BUCKET",
    "PRIVATE_CATEGORIES",
    "SETTLE",
    "START",
    "STOPPED",
    "STREAMS",
    "WAKE",
    "BusUser",
    "Durable",
    "Permissions",
    "Stream",
    "ask",
    "client",
    "command",
    "dead",
    "event",
    "payload_chunk",
    "refusal",
    "stream",
    "subject_token",
    "tenant_of",
    "users",
    "work",
]
