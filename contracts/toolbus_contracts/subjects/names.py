"""Every subject of the bus: built here, and nowhere else."""

import re

CALL_COMMANDS = ("submit", "cancel")
ASK_VERBS = ("submit", "get", "cancel")
EXECUTOR_TYPES = {  # service → its durables, each with the tool type whose work lies there
    "api_caller": {"api_caller": "api_call"},
    "integrations": {"integrations": "integration", "mcp": "mcp"},
}
DEFAULT_ROUTE = "default"
PRIVATE_CATEGORIES = frozenset({"key", "stored"})  # told to auditors by position, not to every client on the bus
PAYLOAD_BUCKET = "PAYLOADS"
SECRETS = "SECRETS"
SECRETS_FILLED = "toolbus.secret.-.filled"  # a message here: the stream holds every secret; no tenant has this name
MAX_MESSAGE_BYTES = 2 * 1024 * 1024  # a dead letter holds a whole message and what is known about it
MAX_TOKEN_CHARS = 128
WAKE = "toolbus.wake"
START = "toolbus.intask.start"
CHECK = "toolbus.intask.check"
SETTLE = "toolbus.intask.settle"
DESCRIBE = "toolbus.intask.describe"
OUTCOME = "toolbus.int.dispatcher.outcome"
ASK_COMPLETE = "toolbus.ask.*.call.complete"


def command(tenant: str, verb: str) -> str:
    """Where clients publish a command about a call."""
    return f"toolbus.cmd.{tenant}.call.{verb}"


def ask(tenant: str, verb: str, noun: str = "call") -> str:
    """Where clients ask and are answered after the commit."""
    return f"toolbus.ask.{tenant}.{noun}.{verb}"


def work(tool_type: str, tenant: str, route: str = DEFAULT_ROUTE) -> str:
    """Where an executor finds its work."""
    return f"toolbus.work.{tool_type}.{route}.{tenant}"


def event(tenant: str, category: str, subject_id: str, kind: str) -> str:
    """Where an event is told: `call.attempt_started.v1` becomes `….call.<id>.attempt_started`."""
    return f"toolbus.evt.{tenant}.{category}.{subject_token(subject_id)}.{kind.split('.')[1]}"


def subject_token(text: str) -> str:
    """
    Make one subject token of an id, at most 128 characters long.

    What NATS reserves (dot, star, greater) and all that is not printable ASCII becomes `_`: an id that
    somebody else chose can end neither the token nor the line. An empty id is `_`.
    """
    return _NO_TOKEN.sub("_", text[:MAX_TOKEN_CHARS]) or "_"


_NO_TOKEN = re.compile(r"[^!-~]|[.*>]")


STOPPED = tuple(f"toolbus.evt.*.call.*.{event}" for event in ("cancelled", "expired", "cancel_requested"))


def refusal(tenant: str, message_id: str) -> str:
    """Where the refusal of a command that never became a call is told."""
    return f"toolbus.evt.{tenant}.command.{subject_token(message_id)}.refused"


def dead(tenant: str, reason: str) -> str:
    """Where messages lie that nobody could use."""
    return f"toolbus.dead.{tenant}.{reason}"


def payload_chunk(digest: str, number: int) -> str:
    """Where a part of a large body lies; `digest` is that of the whole body, part 0 says how many there are."""
    return f"toolbus.payload.{digest.removeprefix('sha256:')}.{number}"


def secret(tenant: str, name: str) -> str:
    """Where the sealed secret of this name lies. A dot would end the token; no name holds the sign in its place."""
    return f"toolbus.secret.{tenant}.{name.replace('.', '=')}"


def secret_of(subject: str) -> tuple[str, str]:
    """The tenant and name whose secret lies on this subject."""
    tenant, name = subject.removeprefix("toolbus.secret.").split(".")
    return tenant, name.replace("=", ".")


def tenant_of(subject: str) -> str | None:
    """The tenant that a subject names; None when it names none."""
    tokens = subject.split(".")
    place = _TENANT_PLACES.get(".".join(tokens[:2]))
    return tokens[place] if place is not None and place < len(tokens) else None


_TENANT_PLACES = {
    "toolbus.cmd": 2,
    "toolbus.ask": 2,
    "toolbus.evt": 2,
    "toolbus.dead": 2,
    "toolbus.secret": 2,
    "toolbus.work": 4,
}
