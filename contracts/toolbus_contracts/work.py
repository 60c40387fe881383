"""What travels between dispatcher and executors: the work item that asks for one attempt at a call."""

from datetime import datetime
from operator import not_

from pydantic import Field

from toolbus_contracts.calls import Continued
from toolbus_contracts.tools import JsonObject, Surface, Terms, ToolDefinition
from toolbus_contracts.values import Json, Message

PAYLOAD_KEY = "$payload"
PAYLOAD_THRESHOLD_BYTES = 64 * 1024  # a field above this travels and rests as a payload
PAYLOAD_PREVIEW_CHARS = 256


class WorkItem(Message):
    """
    One attempt at one call, with all that an executor without a database needs.

    Values of `arguments` that are `{"$payload": "sha256:…"}` lie in the payload bucket under their
    digest. `needs_start` means: ask `start` before the first byte is sent. `approved` is the digest that was
    approved, if any: the executor computes that of what it holds, and sends it along when it asks.

    `surface` is what the tool's provider or server said when it was defined. `setup` is what was stored for the
    call: it goes over the setup of an integration, and part by part over the section of an `api_call`. `continued` is
    there when its server has begun, and wanted to know more.
    """

    call_id: str
    tenant: str
    execution_id: str
    attempt: int
    definition: ToolDefinition
    surface: Surface | None = Field(None, exclude_if=not_)
    setup: JsonObject = Field(default_factory=dict, exclude_if=not_)
    arguments: Json
    continued: Continued | None = Field(None, exclude_if=not_)
    terms: Terms
    needs_start: bool
    approved: str | None = None
    on_behalf_of: str | None = None
    deadline_at: datetime | None = None


class PayloadRef(Message):
    """A large value by its digest; `preview` is the beginning of its JSON text."""

    payload: str = Field(alias="$payload", pattern=r"^sha256:[0-9a-f]{64}$")
    bytes: int
    preview: str = ""


class ApiCallOutput(Message):
    """
    What an `api_call` gives back.

    `content` is base64 and there when the body is no JSON or the definition asks for it; a body that
    claims to be JSON but is not storable as such is kept in `content`, with the reason in `json_error`.
    """

    status_code: int
    headers: dict[str, str]
    json_body: Json = Field(None, alias="json")
    content: str | None = None
    json_error: str | None = None
    bytes: int
    truncated: bool = False
