"""From a call of an `api_call` to the one HTTP request that it stands for, byte by byte."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, get_args

from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.references import with_setup, with_values
from toolbus_contracts.requests.arguments import Parts, arrange
from toolbus_contracts.requests.body import Body, encode, is_called_multipart
from toolbus_contracts.requests.headers import FORBIDDEN, IDEMPOTENCY_KEY, checked, cookie_header, defaults, written
from toolbus_contracts.requests.secrets import check_addressee, refuse_references
from toolbus_contracts.requests.target import compose
from toolbus_contracts.requests.texts import header_text, invalid
from toolbus_contracts.tools import READ_METHODS, ApiCallSection, JsonObject, Method, Terms, ToolDefinition
from toolbus_contracts.values import Json

METHODS: frozenset[str] = frozenset(get_args(Method))
NO_SECRETS: Final[Mapping[str, Secret]] = {}
NOTHING: Final = Redactor()


class Asked(Protocol):
    """What a request is made of: a work item, or a call that waits for somebody. Large arguments are whole here."""

    @property
    def call_id(self) -> str:
        """Goes along as idempotency key, and separates files."""

    @property
    def definition(self) -> ToolDefinition:
        """Of type `api_call`."""

    @property
    def setup(self) -> JsonObject:
        """What is stored for the call: it goes over the section of the definition."""

    @property
    def arguments(self) -> Json:
        """An object, or the request is refused."""

    @property
    def terms(self) -> Terms:
        """What was judged of its effect."""

    @property
    def on_behalf_of(self) -> str | None:
        """Whom the request names, where the definition forwards that."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """
    A request as it will be sent: url in ASCII, header names in lower case, body as bytes.

    `secrets` are those that stand in it, `redactor` takes them out of whatever comes back.
    """

    method: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes | None = field(repr=False)
    timeout_s: float
    follow_redirects: bool
    include_response_content: bool | None
    max_output_bytes: int
    secrets: tuple[Secret, ...] = ()
    redactor: Redactor = NOTHING


def http_request(
    item: Asked, *, user_agent: str, secrets: Mapping[str, Secret] = NO_SECRETS, redactor: Redactor = NOTHING
) -> HttpRequest:
    """
    The request that a call stands for, with `secrets` by their names in place of the references to them.

    Raises:
        Refused: `request_invalid` or `secret_not_allowed`; nothing may be sent.
    """
    section = _section(item, secrets)
    parts = arrange(section, item.arguments)
    _check_method(parts, section, item.terms)
    boundary = f"toolbus-{item.call_id.removeprefix('call_')}"
    body = encode(parts, boundary)
    refuse_references(section, parts, body.content if body is not None and parts.json is not None else b"")
    target = compose(parts.url, parts.path, parts.query_pairs())
    if parts.method == "CONNECT" and target.url.count("/") + target.url.count("?") > len("///"):
        raise invalid("CONNECT names a host and port only: path and query have no place in it")
    if secrets:
        check_addressee(section.url, target.url, secrets.values())
    return HttpRequest(
        method=parts.method,
        url=target.url,
        headers=_headers(item, parts, body, authorization=target.authorization, user_agent=user_agent),
        body=None if body is None else body.content,
        timeout_s=_timeout_s(item.definition.attempt_s(), parts.timeout),
        follow_redirects=_flag("follow_redirects", parts.follow_redirects) is True,
        include_response_content=_flag("include_response_content", parts.include_response_content),
        max_output_bytes=item.definition.max_output_bytes,
        secrets=tuple(secrets.values()),
        redactor=redactor,
    )


def _section(item: Asked, secrets: Mapping[str, Secret]) -> ApiCallSection:
    """The section of the definition, with stored setup over it and values in place of references."""
    section = item.definition.api_call
    if section is None:
        raise invalid("the tool is no api_call")
    if item.setup:
        section = with_setup(section, item.setup)
    if secrets:
        section = with_values(section, {secret.name: secret.value for secret in secrets.values()})
    return section


def _check_method(parts: Parts, section: ApiCallSection, terms: Terms) -> None:
    """A method given by the call must not be riskier than what the terms were judged on. Source: DESIGN §5."""
    if parts.method not in METHODS:
        raise invalid(f"{parts.method} is not a method that can be sent")
    is_riskier = section.method in READ_METHODS and parts.method not in READ_METHODS
    if terms.provenance == "method" and is_riskier:
        raise invalid(f"the terms were judged on {section.method}, so that the call may not say {parts.method}")


def _headers(
    item: Asked, parts: Parts, body: Body | None, *, authorization: str | None, user_agent: str
) -> tuple[tuple[str, str], ...]:
    given = written(parts.headers)
    found = defaults(user_agent)
    if authorization is not None:
        found["authorization"] = authorization
    if body is not None and body.content_type is not None:
        found["content-type"] = body.content_type
        if body.content_type.startswith("multipart/"):
            given.pop("content-type", None)  # only ours names the boundary
    elif body is None and is_called_multipart(parts):
        del given["content-type"]  # nothing was given for the form: what is not there has no type
    if parts.cookies and (cookies := cookie_header(parts.cookies)):
        given["cookie"] = "; ".join(filter(None, (given.get("cookie"), cookies)))
    found.update(given)
    found.update(_principal(item, given))
    if item.terms.effect != "read":
        found[IDEMPOTENCY_KEY] = item.call_id
    return checked(found)


def _principal(item: Asked, given: dict[str, str]) -> dict[str, str]:
    """The header that tells on whose behalf: never set by anybody but us."""
    name = item.definition.forward_principal
    if name is None:
        return {}
    if name.lower() in given or name.lower() in FORBIDDEN | {IDEMPOTENCY_KEY}:
        raise invalid(f"header {name} carries the principal and cannot be given")
    return {} if item.on_behalf_of is None else {name.lower(): header_text(name, item.on_behalf_of)}


def _timeout_s(bound_s: float, told: Json) -> float:
    if told is None:
        return bound_s
    if isinstance(told, bool) or not isinstance(told, int | float) or told <= 0:
        raise invalid("timeout is not a number of seconds above 0")
    return min(bound_s, float(told))


def _flag(name: str, value: Json) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise invalid(f"{name} is neither true nor false")
    return value
