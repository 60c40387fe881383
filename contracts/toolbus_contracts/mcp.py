"""
MCP servers: where they are, how to speak to them, and under which names their tools are registered.

A server belongs to a tenant. What it says of its tools is looked at when a tool is defined and again before each call
(`pin`); what it hints about their effects is shown and never trusted.
"""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, StrictFloat, StringConstraints, model_validator

from toolbus_contracts.digests import digest
from toolbus_contracts.secrets import SCHEME, name_in
from toolbus_contracts.tools.policies import JsonObject
from toolbus_contracts.values import Json, Message

MAX_NAME_CHARS: Final = 64
MAX_TIMEOUT_S: Final = 3600.0
MAX_VALUE_CHARS: Final = 8192
# The protocol sets these itself; another value would break the framing or the session.
RESERVED_HEADERS: Final = frozenset(
    {
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    }
)
_MARK_CHARS = 8
MARKED_CHARS: Final = MAX_NAME_CHARS - _MARK_CHARS - 1
_DIGEST_PREFIX = "sha256:"

ServerName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
Transport = Literal["http", "stdio"]
Pin = Literal["pin", "names", "off"]


def _whole_reference(value: str) -> str:
    """
    Let text through, and `secret://name` when it is all of the text.

    Raises:
        ValueError: a reference stands inside other text, or its name is none.
    """
    if SCHEME in value and name_in(value) is None:
        raise ValueError("a reference to a secret is the whole text: secret://name")
    return value


def _header_name(name: str) -> str:
    if name.lower() in RESERVED_HEADERS or name.lower().startswith("mcp-param-"):
        raise ValueError("the protocol sets this header itself")
    return name


HeaderName: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$"), AfterValidator(_header_name)
]
HeaderValue: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[\t\x20-\x7e\x80-\xff]*$", max_length=MAX_VALUE_CHARS),
    AfterValidator(_whole_reference),
    Field(description="text, or a reference to a secret: secret://name"),
]
BearerToken: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=MAX_VALUE_CHARS),
    AfterValidator(_whole_reference),
    Field(description="sent as `Authorization: Bearer`; text without spaces, or secret://name"),
]
Argument: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=MAX_VALUE_CHARS)]
EnvName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
EnvValue: TypeAlias = Annotated[Argument, AfterValidator(_whole_reference)]


class PutMcpServer(Message):
    """
    Speak to an MCP server under a name from now on.

    `http` (streamable HTTP) has a `url`, and may have `headers` and `bearer`. `stdio` has a `command` with `args` and
    `env`, and works only where the operator has listed exactly this command (TOOLBUS_MCP_STDIO_ALLOW); the whole
    command is compared, no shell is asked, and nothing of our own environment is handed on. `pin` says what has to be
    as it was when a tool was defined: all of its schemas and the version of the server (`pin`), its name (`names`), or
    nothing (`off`). `timeout_s` is for one call when its tool says nothing.
    """

    transport: Transport
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s#]+$", max_length=8192)] | None = None
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict, max_length=32)
    bearer: BearerToken | None = None
    command: Annotated[Argument, StringConstraints(min_length=1)] | None = None
    args: tuple[Argument, ...] = Field((), max_length=64)
    env: dict[EnvName, EnvValue] = Field(default_factory=dict, max_length=32)
    pin: Pin = "pin"
    timeout_s: StrictFloat = Field(30.0, gt=0, le=MAX_TIMEOUT_S)

    @model_validator(mode="after")
    def _fits_its_transport(self) -> "PutMcpServer":
        if self.transport == "http":
            if self.url is None:
                raise ValueError("a server over http needs its url")
            if self.command is not None or self.args or self.env:
                raise ValueError("command, args and env belong to stdio")
        else:
            if self.command is None:
                raise ValueError("a server over stdio needs its command")
            if self.url is not None or self.headers or self.bearer is not None:
                raise ValueError("url, headers and bearer belong to http")
        if len({name.lower() for name in self.headers}) < len(self.headers):
            raise ValueError("two spellings of one header")
        if self.bearer is not None and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("bearer is the header authorization: give one of them")
        return self

    @property
    def argv(self) -> tuple[str, ...]:
        """The whole command of a server over stdio."""
        return () if self.command is None else (self.command, *self.args)


class McpServerView(PutMcpServer):
    """A server as it is stored. References to secrets are shown, their values are not kept here."""

    name: str
    stored_at: datetime


class Hints(Message):
    """What a server claims of a tool's effect: shown to whoever imports it, and no assertion."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class McpToolView(Message):
    """A tool as its server describes it now."""

    name: str
    title: str | None = None
    description: str = ""
    arguments: JsonObject
    output: JsonObject | None = None
    hints: Hints = Hints()


class McpSurfaceView(Message):
    """What a server says of itself now: its name and version if it tells, the protocol in use, and all its tools."""

    server: str | None = None
    version: str | None = None
    protocol: str
    tools: tuple[McpToolView, ...]


class McpOutput(Message):
    """
    What a tool of an MCP server gives back.

    `text` joins the blocks of text, `structured` is the structured content, `content` holds every block as it came.
    `is_error` is what the server says; a call whose tool reports an error has failed. What no strict JSON reader would
    keep as it is (NUL, integers beyond 2^53) stays in `raw`, in base64, and `json_error` tells why.
    """

    text: str | None = None
    structured: Json = None
    content: tuple[JsonObject, ...] = ()
    is_error: bool = False
    raw: str | None = None
    json_error: str | None = None


def registered_names(server: str, tools: Iterable[str], prefix: str | None = None) -> dict[str, str]:
    """
    Under which names the tools of a server are registered: the prefix (`<server>_`) and their own, cleaned.

    At most 64 characters of letters, digits, `_` and `-`. A name that had to be cut ends with a mark that is made of
    the tool's own name, and so do names that several tools would share after cleaning.
    """
    head = f"{server}_" if prefix is None else prefix
    cleaned = {name: _cleaned(head + name) for name in sorted(set(tools))}
    shared = Counter(cleaned.values())
    return {
        name: found if _is_its_own(found, head + name, shared) else f"{found[:MARKED_CHARS]}_{_mark(name)}"
        for name, found in cleaned.items()
    }


def _is_its_own(found: str, wanted: str, shared: Counter[str]) -> bool:
    return len(found) <= MAX_NAME_CHARS and (shared[found] == 1 or found == wanted)


def _cleaned(name: str) -> str:
    found = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return found if re.match(r"[A-Za-z_]", found) else f"_{found}"


def _mark(name: str) -> str:
    return digest(name).removeprefix(_DIGEST_PREFIX)[:_MARK_CHARS]
