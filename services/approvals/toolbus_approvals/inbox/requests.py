"""
The request that a call becomes, as far as definition and arguments tell: where each argument goes, and what is fixed.

The executor alone composes and encodes it. A test holds the places that are told here against those it takes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from toolbus_approvals.inbox.values import Shown, show
from toolbus_contracts.references import with_setup
from toolbus_contracts.tools import QUERY_METHODS, ApiCallSection, ToolDefinition
from toolbus_contracts.values import Json

PLACES = {
    "path": "in the path",
    "query": "in the query",
    "json": "in the JSON body",
    "form": "in the form",
    "header": "as a header",
    "cookie": "as a cookie",
    "body": "as the whole JSON body",
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
_NAMED = re.compile(r"\{([^{}/?#]+)\}")


@dataclass(frozen=True)
class RequestShown:
    """
    What the call becomes. Names of `secret://` stay names.

    The url is that of the definition; its `{names}` are filled when the call is sent. `places` tells where each
    argument goes, `fixed` what the definition sends besides.
    """

    first_line: str
    headers: tuple[tuple[str, str], ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    fixed: tuple[tuple[str, Shown], ...] = ()
    where: str = ""


def request_of(
    definition: ToolDefinition | None, arguments: Json, setup: Mapping[str, Json] | None = None
) -> RequestShown | None:
    """The request that a call of this definition makes, with stored setup; none when it is not known here."""
    stored = setup or {}
    if definition is None:
        return None
    if definition.api_call is not None:
        return _http_request(with_setup(definition.api_call, stored), definition.forward_principal, arguments)
    if definition.function is not None:
        hook = definition.webhook
        where = "The arguments go to whoever leases the call." if hook is None else "The arguments are in its body."
        return RequestShown(f"POST {hook.url}" if hook else f"function {definition.name}", where=where)
    fixed = [("definition", show(definition.section()))]
    if stored:
        fixed.append(("stored setup", show(dict(stored))))
    return RequestShown(f"{definition.tool_type} {definition.name}", fixed=tuple(fixed))


def _http_request(section: ApiCallSection, forward: str | None, arguments: Json) -> RequestShown:
    parts: dict[str, Json] = {
        "params": section.params,
        "json": section.json_body,
        "data": section.data,
        "cookies": section.cookies,
        "files": section.files,
        "content": section.content,
    }
    headers = dict(section.headers or {})
    if forward:
        headers[forward] = "(on whose behalf the call is made)"
    return RequestShown(
        f"{section.method} {section.url}",
        headers=tuple(headers.items()),
        places=places_of(section, arguments if isinstance(arguments, Mapping) else {}),
        fixed=tuple((name, show(value)) for name, value in parts.items() if value is not None),
    )


def places_of(section: ApiCallSection, arguments: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Where each argument goes. Source: DESIGN §7."""
    declared = (section.params_schema or {}).get("properties")
    names = frozenset(declared) if isinstance(declared, dict) else frozenset()
    if arguments and PARTS.keys() >= arguments.keys() and names.isdisjoint(arguments):
        return tuple((name, f"as {PARTS[name]}") for name in arguments)
    in_url = set(_NAMED.findall(section.url.partition("#")[0]))
    usual = "query" if section.method in QUERY_METHODS else "json"
    presets = (section.params, section.json_body, section.data)
    fixed = {name for part in presets if isinstance(part, dict) for name in part} & names
    told = section.params_in or {}
    return tuple(
        (name, FIXED if name in fixed else PLACES[told.get(name) or ("path" if name in in_url else usual)])
        for name in arguments
    )
