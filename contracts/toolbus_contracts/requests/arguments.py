"""
Where each argument of a call goes: path, query, body, headers or cookies. Source: DESIGN §7.

The model's arguments are the properties of `params_schema`; `params_in`, the names in the url and the
method decide their places. The explicit form names the places itself (`params`, `json`, …). What the
definition fixes wins over the call, key by key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote_plus

from toolbus_contracts.requests.headers import authorization, cookie_names, without_cookies
from toolbus_contracts.requests.styles import beside, is_taken, refuse_twice, written_pairs
from toolbus_contracts.requests.texts import invalid, query_text
from toolbus_contracts.tools import QUERY_METHODS, ApiCallSection, JsonObject, Style
from toolbus_contracts.values import Json

PLACEHOLDER = re.compile(r"\{([^{}/?#]+)\}")
OVERRIDES = ("url", "method", "headers")
EXPLICIT = frozenset(
    {"params", "json", "data", "content", "files", "cookies", "follow_redirects", "timeout", "include_response_content"}
).union(OVERRIDES)


@dataclass(slots=True)
class Parts:
    """A request in its parts, before anything is encoded. `raw_query` is a query given as text."""

    method: str
    url: str
    path: JsonObject = field(default_factory=dict)
    raw_query: list[str] = field(default_factory=list)
    query: JsonObject = field(default_factory=dict)
    json: Json = None
    form: JsonObject = field(default_factory=dict)
    content: Json = None
    files: JsonObject = field(default_factory=dict)
    headers: JsonObject = field(default_factory=dict)
    cookies: JsonObject = field(default_factory=dict)
    timeout: Json = None
    follow_redirects: Json = None
    include_response_content: Json = None
    styles: Mapping[str, Style] = field(default_factory=dict)

    def query_pairs(self) -> list[str]:
        """
        The query, encoded pair by pair.

        Raises:
            Refused: `request_invalid` for a value that its style cannot carry.
        """
        found = list(self.raw_query)
        for name, value in self.query.items():
            found += written_pairs(name, value, self.styles.get(name), query_text)
        return found


@lru_cache(maxsize=4096)
def names_in(url: str) -> tuple[str, ...]:
    """The names that a url leaves open, in their order."""
    return tuple(PLACEHOLDER.findall(url.partition("#")[0]))


def arrange(section: ApiCallSection, arguments: Json) -> Parts:
    """
    Put the arguments of a call and the presets of its definition in their places.

    Raises:
        Refused: `request_invalid` when an argument has no place, or may not be given by a call.
    """
    if not isinstance(arguments, dict):
        raise invalid("the arguments are not an object")
    explicit = is_explicit(section, arguments)
    parts = _explicit(section, arguments) if explicit else _placed(section, arguments)
    parts.styles = section.params_style or {}
    _preset(parts, section, is_explicit_form=explicit)
    _fill_path(parts, section)
    return parts


def is_explicit(section: ApiCallSection, arguments: JsonObject) -> bool:
    """True when every key names a part of a request and none is a declared property."""
    return bool(arguments) and EXPLICIT.issuperset(arguments) and _declared(section).isdisjoint(arguments)


def _declared(section: ApiCallSection) -> frozenset[str]:
    properties = (section.params_schema or {}).get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _fixed(section: ApiCallSection) -> set[str]:
    """Names of declared properties that the definition fills: no call changes them."""
    parts = (section.params, section.json_body, section.data)
    if not any(parts):
        return set()
    return {name for part in parts if isinstance(part, dict) for name in part}.intersection(_declared(section))


def _placed(section: ApiCallSection, arguments: JsonObject) -> Parts:
    parts = Parts(method=section.method, url=section.url)
    in_url = names_in(section.url)
    usual = "query" if section.method in QUERY_METHODS else "json"
    told = section.params_in or {}
    fixed = _fixed(section)
    json_body: JsonObject = {}
    whole: JsonObject = {}
    raw: JsonObject = {}
    places = {
        "path": parts.path,
        "query": parts.query,
        "json": json_body,
        "form": parts.form,
        "file": parts.files,
        "header": parts.headers,
        "cookie": parts.cookies,
        "body": whole,
        "content": raw,
    }
    for name, value in arguments.items():
        place = told.get(name) or ("path" if name in in_url else usual)
        if place == "path" and name not in in_url:
            raise invalid(f"{name}: params_in says path, but the url does not name it")
        if name not in fixed:
            places[place][name] = value
    parts.json = _whole_body(whole, json_body) if whole else json_body or None
    if len(raw) > 1:
        raise invalid(f"{next(iter(raw))} is the whole body: no other argument goes there")
    parts.content = next(iter(raw.values()), None)
    return parts


def _whole_body(whole: JsonObject, keys: JsonObject) -> Json:
    """The one argument that is the JSON body, whatever its type; null would be no body at all."""
    if len(whole) + len(keys) > 1:
        raise invalid(f"{next(iter(whole))} is the whole JSON body: no other argument goes there")
    name, value = next(iter(whole.items()))
    if value is None:
        raise invalid(f"{name}: null cannot be the whole JSON body")
    return value


def _explicit(section: ApiCallSection, arguments: JsonObject) -> Parts:
    for name in OVERRIDES:
        if arguments.get(name) is not None and name not in section.overridable:
            raise invalid(f"{name} is not among what a call may override")
    parts = Parts(
        method=_text(arguments, "method", section.method).upper(),
        url=_text(arguments, "url", section.url),
        json=arguments.get("json"),
        form=_object(arguments, "data"),
        content=arguments.get("content"),
        files=_object(arguments, "files"),
        headers=_object(arguments, "headers"),
        cookies=_object(arguments, "cookies"),
        timeout=arguments.get("timeout"),
        follow_redirects=arguments.get("follow_redirects"),
        include_response_content=arguments.get("include_response_content"),
    )
    if isinstance(params := arguments.get("params"), str):
        parts.raw_query = _segments(params)
    else:
        parts.query = _object(arguments, "params")
    return parts


def _text(arguments: JsonObject, name: str, default: str) -> str:
    value = arguments.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid(f"{name} is not text")
    return default if value is None else value


def _object(arguments: JsonObject, name: str) -> JsonObject:
    value = arguments.get(name)
    if value is not None and not isinstance(value, dict):
        raise invalid(f"{name} is not an object")
    return dict(value or {})


def _preset(parts: Parts, section: ApiCallSection, *, is_explicit_form: bool) -> None:
    """Lay what the definition fixes over what the call gave."""
    _preset_query(parts, section)
    _preset_json(parts, section.json_body, is_explicit_form=is_explicit_form)
    _preset_form(parts, section)
    parts.content = section.content if section.content is not None else parts.content
    parts.timeout = section.timeout if section.timeout is not None else parts.timeout
    if section.follow_redirects is not None:
        parts.follow_redirects = section.follow_redirects
    if section.include_response_content is not None:
        parts.include_response_content = section.include_response_content
    _preset_headers(parts, section)


def _preset_headers(parts: Parts, section: ApiCallSection) -> None:
    """Headers, and cookies, which others may write into one of them."""
    if not (section.headers or section.auth or section.cookies):
        return
    headers = section.headers or {}
    if section.auth is not None:
        headers = {**headers, "authorization": authorization(section.auth)}
    fixed = {name.lower() for name in headers}
    own = {name: value for name, value in parts.headers.items() if name.lower() not in fixed}
    cookies = section.cookies or {}
    parts.headers = {**without_cookies(own, cookies), **headers}
    named = cookie_names(headers)
    parts.cookies = _over(cookies, {name: value for name, value in parts.cookies.items() if name not in named})


def _preset_form(parts: Parts, section: ApiCallSection) -> None:
    """Fields and files, which have their names in one form."""
    data, files = section.data or {}, section.files or {}
    if not (data or files or parts.form):
        return
    taken = {*data, *files}
    parts.form = {**data, **beside(parts.form, taken, parts.styles)}
    refuse_twice(parts.form, parts.styles)
    parts.files = {**files, **beside(parts.files, taken, {})}


def _over(preset: Mapping[str, Json] | None, given: JsonObject) -> JsonObject:
    """Presets first, then what only the call gives."""
    fixed = preset or {}
    return {**fixed, **{name: value for name, value in given.items() if name not in fixed}}


def _preset_query(parts: Parts, section: ApiCallSection) -> None:
    """What the definition says in `params` and in its url; a value that fills a name in the url stays for that."""
    segments = _segments(section.params) if isinstance(section.params, str) else []
    fixed = section.params if isinstance(section.params, dict) else {}
    taken = {_name_of(segment) for segment in segments}.union(fixed)
    if parts.url == section.url:
        taken |= _names_of_query(section.url)
    if taken:
        parts.raw_query = segments + [one for one in parts.raw_query if not is_taken(_name_of(one), taken)]
        parts.query = {**fixed, **beside(parts.query, taken, parts.styles)}
    refuse_twice(parts.query, parts.styles)


@lru_cache(maxsize=4096)
def _names_of_query(url: str) -> frozenset[str]:
    """The names in the query of a url, but for those that it leaves open elsewhere too."""
    query = url.partition("#")[0].partition("?")[2]
    return frozenset(map(_name_of, _segments(query))).difference(names_in(url))


def _preset_json(parts: Parts, preset: Json, *, is_explicit_form: bool) -> None:
    if preset is None:
        return
    if isinstance(preset, dict) and (parts.json is None or isinstance(parts.json, dict)):
        parts.json = _over(preset, parts.json or {})
    elif is_explicit_form or parts.json is None:
        parts.json = preset  # the whole body is one key, and the definition has it
    else:
        raise invalid("the definition fixes the whole JSON body; these arguments have no place in it")


def _segments(text: str) -> list[str]:
    return [segment for segment in text.removeprefix("?").split("&") if segment]


def _name_of(segment: str) -> str:
    return unquote_plus(segment.partition("=")[0])


def _fill_path(parts: Parts, section: ApiCallSection) -> None:
    """Give every name in the url its value, taken out of the first place that has it."""
    told = section.params_in or {}
    is_one_argument = "body" in told.values()
    body = dict(parts.json) if isinstance(parts.json, dict) and not is_one_argument else {}
    for name in names_in(parts.url):
        if name in parts.path:
            continue
        if told.get(name, "path") != "path":
            raise invalid(f"the url names {name}, but params_in sends it elsewhere")
        place = next((place for place in (parts.query, body, parts.form) if name in place), None)
        if place is None:
            raise invalid(f"no value for {name}, which the url names")
        parts.path[name] = place.pop(name)
    if isinstance(parts.json, dict) and not is_one_argument:
        parts.json = body if body or not parts.json else None
