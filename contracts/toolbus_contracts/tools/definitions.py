"""Definitions of tools: five types, the contract in force, and the hashes that pin them."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StringConstraints, model_validator

from toolbus_contracts.digests import digest
from toolbus_contracts.tools.credentials import ApiAuth
from toolbus_contracts.tools.policies import (
    MAX_WAIT_S,
    Approval,
    AskUser,
    FunctionWebhook,
    JsonObject,
    Limits,
    Probe,
    Retry,
    ToolName,
)
from toolbus_contracts.tools.surfaces import Surface
from toolbus_contracts.tools.terms import Contract, Terms
from toolbus_contracts.values import Json, Message

ToolType = Literal["function", "integration", "api_call", "system", "mcp"]
ToolScope: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^(tenant|agent:[A-Za-z0-9_-]{1,64}|task:[A-Za-z0-9_-]{1,64})$")
]
Method = Literal["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE"]
Place = Literal["path", "query", "json", "form", "file", "content", "header", "cookie", "body"]
Style = Literal["comma", "space", "pipe", "deep"]

READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
QUERY_METHODS = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"})
SERVED_TYPES: frozenset[ToolType] = frozenset({"api_call", "function", "integration", "mcp"})
DESCRIBED_TYPES: frozenset[ToolType] = frozenset({"integration", "mcp"})  # whoever runs them says what they take
MAX_TIMEOUT_S = 3600.0
USUAL_TIMEOUT_S = 30.0


class FunctionSection(Message):
    """A function that the client runs."""

    name: None = None
    description: None = None
    parameters: JsonObject = Field(default_factory=dict)


class IntegrationSection(Message):
    """A method of a provider on the shelf."""

    provider: str
    method: str | None = None
    setup: JsonObject | None = None
    arguments: JsonObject | None = None


class SystemSection(Message):
    """An operation on a resource of Toolbus itself."""

    resource: str
    operation: str
    resource_id: str | None = None
    subresource: str | None = None
    arguments: JsonObject | None = None


class McpSection(Message):
    """A tool of an MCP server."""

    server: str
    tool: str
    arguments: JsonObject | None = None


class SecretName(Message):
    """A reference to a secret by its name."""

    name: str


class ApiCallSection(Message):
    """
    One HTTP request, with what is fixed and what a model supplies.

    `params_schema` describes the model's arguments; `params_in` says where each of them goes (by
    default: named in the url → path, else query for GET, HEAD, DELETE, OPTIONS and TRACE, else a key of
    the JSON body). `body` makes an argument the whole JSON body, and `content` a body of bytes, given as
    base64: no other goes there then. `file` takes base64, `{content, filename, content_type}`, or a list
    of either. `params_style` says how lists and objects are written in a query or a form: by default a
    list repeats the name and an object is JSON; `comma`, `space` and `pipe` join the items of a list, and
    `deep` gives each value inside a name of its own: `name[key]`, `name[0]`. A form is sent as
    `multipart/form-data` when it has files, or when `headers` fix that as its Content-Type.
    `params`, `json`, `data`, `headers` and `cookies` given here are fixed and win over the
    call. Texts `secret://name` in these and in `auth` are references to secrets, and so is each entry of
    `secrets`: it fills the header that it stands under. `content` is base64; `timeout` is seconds.
    `include_response_content`: the raw answer is kept always (true), never (false; except when its JSON
    cannot be stored), or when it is no JSON (not set).
    """

    method: Method
    url: Annotated[str, StringConstraints(min_length=1, max_length=8192)]
    response_schema: JsonObject | bool | None = Field(None, alias="schema")
    headers: dict[str, str] | None = None
    secrets: dict[str, SecretName] | None = None
    auth: ApiAuth | None = None
    content: str | None = None
    data: JsonObject | None = None
    files: JsonObject | None = None
    json_body: Json = Field(None, alias="json")
    cookies: dict[str, str] | None = None
    params: str | JsonObject | None = None
    params_schema: JsonObject | None = None
    params_in: dict[str, Place] | None = None
    params_style: dict[str, Style] | None = None
    follow_redirects: StrictBool | None = None
    timeout: StrictInt | None = Field(None, ge=1, le=255)
    include_response_content: StrictBool | None = None
    overridable: tuple[Literal["url", "method", "headers"], ...] = ()

    @model_validator(mode="after")
    def _url_is_http(self) -> "ApiCallSection":
        if not self.url.lower().startswith(("http://", "https://")):
            raise ValueError("url must start with http:// or https://")
        return self

    @model_validator(mode="after")
    def _styles_are_heeded(self) -> "ApiCallSection":
        usual: Place = "query" if self.method in QUERY_METHODS else "json"
        fixed = {name for part in (self.params, self.data) if isinstance(part, dict) for name in part}
        for name in (self.params_style or {}).keys() - fixed:
            if (self.params_in or {}).get(name, usual) not in {"query", "form"}:
                raise ValueError(f"params_style: {name} goes neither to the query nor to a form")
        return self


SECTIONS: tuple[ToolType, ...] = ("function", "integration", "api_call", "system", "mcp")


class ToolDefinition(Message):
    """
    What a tool is, as its owner writes it (YAML or JSON).

    Only promises that something keeps can be written: a field that no running part enforces is
    refused as unknown. `timeout_s` bounds one attempt (absent: as the provider says, else 30 s),
    `max_output_bytes` the body of an answer.
    """

    name: ToolName
    description: str = Field("", max_length=4096)
    type: ToolType | None = None
    function: FunctionSection | None = None
    integration: IntegrationSection | None = None
    api_call: ApiCallSection | None = None
    system: SystemSection | None = None
    mcp: McpSection | None = None
    contract: Contract | None = None
    timeout_s: StrictFloat | None = Field(None, gt=0, le=MAX_TIMEOUT_S)
    max_output_bytes: StrictInt = Field(10 * 1024 * 1024, ge=1, le=50 * 1024 * 1024)
    retry: Retry | None = None
    limits: Limits | None = None
    probe: Probe | None = None
    approval: Approval | None = None
    ask_user: AskUser | None = None
    webhook: FunctionWebhook | None = Field(None, description="of a function: where its client hears of calls")
    expires_s: StrictFloat | None = Field(
        None, gt=0, le=MAX_WAIT_S, description="of a function: how long its client has; absent: 31 days"
    )
    forward_principal: str | None = Field(
        None, pattern=r"^[A-Za-z0-9-]{1,64}$", description="name of the request header that carries on_behalf_of"
    )

    @model_validator(mode="before")
    @classmethod
    def _type_follows_section(cls, data: Json) -> Json:
        """Fill `type` from the one section that is present."""
        if isinstance(data, Mapping) and data.get("type") is None:
            present = [name for name in SECTIONS if data.get(name) is not None]
            if len(present) == 1:
                return {**data, "type": present[0]}
        return data

    @model_validator(mode="after")
    def _one_section(self) -> "ToolDefinition":
        present = [name for name in SECTIONS if getattr(self, name) is not None]
        if len(present) != 1 or self.type != present[0]:
            raise ValueError(f"exactly one section that matches type is needed; found {present or 'none'}")
        if self.function is None and (self.webhook is not None or self.expires_s is not None):
            raise ValueError("webhook and expires_s belong to tools of type function")
        if self.timeout_s is None and self.type not in DESCRIBED_TYPES:  # no provider may have another one
            self.__dict__["timeout_s"] = USUAL_TIMEOUT_S  # not as if it were set: clients send what was written
        return self

    def terms(self, surface: Surface | None = None) -> Terms:
        """
        The contract in force. Source: DESIGN §5, note 1 (judged on the method for api_call).

        A provider vouches for its methods; what an MCP server says of its tools is no promise.
        """
        if self.contract is not None:
            return Terms(**self.contract.model_dump(), is_asserted=True, provenance="definition")
        if self.api_call is not None and self.api_call.method in READ_METHODS:
            return Terms(effect="read", idempotency="native", is_asserted=True, provenance="method")
        if self.integration is not None and surface is not None and surface.contract is not None:
            return Terms(**surface.contract.model_dump(), is_asserted=True, provenance="provider")
        return Terms()

    def attempt_s(self, surface: Surface | None = None) -> float:
        """How long one attempt may take, in seconds: as the definition says, else its provider, else 30."""
        if self.timeout_s is not None:
            return self.timeout_s
        return surface.timeout_s if surface is not None and surface.timeout_s is not None else USUAL_TIMEOUT_S

    @property
    def tool_type(self) -> ToolType:
        """The type of the one section that is there."""
        if self.type is None:
            raise AssertionError("validation fills the type")
        return self.type

    def section(self) -> Json:
        """The section of its type as plain JSON."""
        return getattr(self, self.tool_type).model_dump(mode="json", by_alias=True, exclude_none=True)

    def definition_hash(self, surface: Surface | None = None) -> str:
        """Hash over every field that can change the effect, the surface among them; descriptions are not."""
        covered = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"description"})
        if surface is not None:
            covered["surface"] = surface.model_dump(mode="json", exclude_none=True, exclude={"description"})
        return digest(covered)

    def execution_hash(self, surface: Surface | None = None) -> str:
        """Hash over the definition and the terms under which it runs."""
        terms = self.terms(surface).model_dump(mode="json")
        return digest({"definition": self.definition_hash(surface), "terms": terms})
