"""
The request that a call becomes: of an `api_call` exactly as it is sent, and where each argument stands in it.

Where it cannot be made yet, or not be made at all, the definition tells what is fixed. A test holds the places that are
told here against those that the request takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from toolbus_approvals.inbox.exact import Exact, Waiting, exact_of
from toolbus_approvals.inbox.values import Shown, show
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.payloads import digests_in, filled_in
from toolbus_contracts.references import with_setup
from toolbus_contracts.requests.arguments import is_explicit, names_in
from toolbus_contracts.secrets import SCHEME
from toolbus_contracts.tools import QUERY_METHODS, ApiCallSection, ToolDefinition
from toolbus_contracts.values import Json
from toolbus_contracts.waits import Wait

PLACES = {
    "path": "in the path",
    "query": "in the query",
    "json": "in the JSON body",
    "form": "in the form",
    "file": "as a file",
    "header": "as a header",
    "cookie": "as a cookie",
    "body": "as the whole JSON body",
    "content": "as the body",
}
PARTS = {
    "params": "the query",
    "json": "the JSON body",
    "data": "the form",
    "content": "the body",
    "files": "the files",
    "cookies": "the cookies",
    "headers": "the headers",
    "url": "the url, in the place of the one above",
    "method": "the method, in the place of the one above",
    "follow_redirects": "whether redirects are followed",
    "timeout": "the timeout in seconds",
    "include_response_content": "whether the raw answer is kept",
}
FIXED = "nowhere: the definition fixes it"
NOT_YET = "It is made once the values that are asked for are there."
TOO_LARGE = "Not all of its large values can be shown here: this is what the definition says of it."
REFUSED = "No such request is sent: it is refused, because "


@dataclass(frozen=True)
class RequestShown:
    """
    What the call becomes. Names of `secret://` stay names.

    `exact` is what is sent. Without it `first_line` and `headers` are those of the definition, whose url has `{names}`
    that are filled when the call is sent, and `fixed` what it sends besides. `places` tells where each argument goes.
    """

    first_line: str
    headers: tuple[tuple[str, str], ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    fixed: tuple[tuple[str, Shown], ...] = ()
    where: str = ""
    exact: Exact | None = None


def request_of(
    definition: ToolDefinition | None, wait: Wait, large: Mapping[str, Json], *, user_agent: str
) -> RequestShown | None:
    """
    The request that the call of a wait makes, with stored setup; none when its definition is not known here.

    `large` holds values that the arguments refer to, by digest, as far as there is room for them.
    """
    if definition is None:
        return None
    if definition.api_call is not None:
        section = with_setup(definition.api_call, wait.setup)
        told = _as_defined(section, definition.forward_principal, wait.arguments)
        return _exactly(told, wait, large, definition=definition, user_agent=user_agent)
    if definition.function is not None:
        hook = definition.webhook
        where = "The arguments go to whoever leases the call." if hook is None else "The arguments are in its body."
        return RequestShown(f"POST {hook.url}" if hook else f"function {definition.name}", where=where)
    fixed = [("definition", show(definition.section()))]
    if wait.setup:
        fixed.append(("stored setup", show(wait.setup)))
    return RequestShown(f"{definition.tool_type} {definition.name}", fixed=tuple(fixed))


def _exactly(
    told: RequestShown, wait: Wait, large: Mapping[str, Json], *, definition: ToolDefinition, user_agent: str
) -> RequestShown:
    """What is sent; what the definition tells where that cannot be known, and why."""
    if wait.kind == "input":
        return replace(told, where=NOT_YET)
    if not large.keys() >= set(digests_in(wait.arguments)):
        return replace(told, where=TOO_LARGE)
    waiting = Waiting(
        call_id=wait.call_id,
        definition=definition,
        setup=wait.setup,
        arguments=filled_in(wait.arguments, large),
        terms=wait.terms,
        on_behalf_of=wait.requester.on_behalf_of,
    )
    try:
        return replace(told, exact=exact_of(waiting, user_agent))
    except Refused as error:
        return replace(told, where=f"{REFUSED}{error.message}.")


def _as_defined(section: ApiCallSection, forward: str | None, arguments: Json) -> RequestShown:
    parts: dict[str, Json] = {
        "params": section.params,
        "json": section.json_body,
        "data": section.data,
        "cookies": section.cookies,
        "files": section.files,
        "content": section.content,
    }
    headers = dict(section.headers or {})
    headers |= {name: SCHEME + secret.name for name, secret in (section.secrets or {}).items()}
    if section.auth is not None:
        basic = section.auth.basic
        pair = f"Bearer {section.auth.bearer}" if basic is None else f"Basic base64({basic.username}:{basic.password})"
        headers["authorization"] = pair
    if forward:
        headers[forward] = "(on whose behalf the call is made)"
    return RequestShown(
        f"{section.method} {section.url}",
        headers=tuple(headers.items()),
        places=places_of(section, arguments if isinstance(arguments, dict) else {}),
        fixed=tuple((name, show(value)) for name, value in parts.items() if value is not None),
    )


def places_of(section: ApiCallSection, arguments: dict[str, Json]) -> tuple[tuple[str, str], ...]:
    """Where each argument goes. Source: DESIGN §7."""
    declared = (section.params_schema or {}).get("properties")
    names = frozenset(declared) if isinstance(declared, dict) else frozenset()
    if is_explicit(section, arguments):
        return tuple((name, f"as {PARTS[name]}") for name in arguments)
    in_url = names_in(section.url)
    usual = "query" if section.method in QUERY_METHODS else "json"
    presets = (section.params, section.json_body, section.data)
    fixed = {name for part in presets if isinstance(part, dict) for name in part} & names
    told = section.params_in or {}
    return tuple(
        (name, FIXED if name in fixed else PLACES[told.get(name) or ("path" if name in in_url else usual)])
        for name in arguments
    )
