"""The url of a request: names filled in, percent-encoded exactly once, and nothing that leads elsewhere."""

import base64
import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote

from toolbus_contracts.requests.arguments import PLACEHOLDER
from toolbus_contracts.requests.texts import invalid, path_text, plain
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#\\]*)(?P<path>(/[^?#]*)?)(\?(?P<query>[^#]*))?(#.*)?",
    re.IGNORECASE | re.DOTALL,
)
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")
_LABELS = re.compile(r"\[.*\]|(?=.{1,253}$)([^.]{1,63}\.)*[^.]{1,63}\.?")  # Source: RFC 1035 §2.3.4
_HOST_PART = re.compile(r"[A-Za-z0-9.-]+")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN = re.compile(r"[A-Za-z0-9_.~/=&-]*")  # nothing to encode anywhere
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PATH_SAFE = "/%:@!$&'()*+,;=~"  # Source: RFC 3986 §3.3
_QUERY_SAFE = "/?%:@!$&'()*+,;=~"  # Source: RFC 3986 §3.4
MAX_URL_CHARS = 32 * 1024
MAX_PORT = 65535


class Target(NamedTuple):
    """An absolute url in ASCII, and the Authorization that stood in it as `user:password@`."""

    url: str
    authorization: str | None


def compose(template: str, path: JsonObject, query: Sequence[str]) -> Target:
    """
    Fill and encode a url; `query` holds pairs that are encoded already.

    Raises:
        Refused: `request_invalid` for a url that is not http, a host that is none, or a filled-in
            value that would lead to another place.
    """
    found = _taken_apart(template)
    host, authorization = _authority(PLACEHOLDER.sub(lambda m: _host_part(m[1], path[m[1]]), found.authority))
    own = [PLACEHOLDER.sub(lambda m: _query_part(m[1], path[m[1]]), found.query)] if found.query else []
    asked = "&".join([_encoded(text, _QUERY_SAFE) for text in (*own, *query)])
    url = f"{found.scheme}://{host}{_path(found.path, path)}" + (f"?{asked}" if asked else "")
    if len(url) > MAX_URL_CHARS:
        raise invalid(f"the url is longer than {MAX_URL_CHARS} characters")
    return Target(url, authorization)


class _Template(NamedTuple):
    scheme: str
    authority: str
    path: str
    query: str | None


@lru_cache(maxsize=4096)  # thousands of calls have one url between them
def _taken_apart(template: str) -> _Template:
    found = _URL.fullmatch(template.strip(" "))
    if found is None or _CONTROL.search(template):
        raise invalid("the url is not an http or https url")
    return _Template(found["scheme"].lower(), found["authority"], found["path"], found["query"])


def _encoded(text: str, safe: str) -> str:
    """Encode what may not stand as it is, and leave what is encoded already."""
    if _PLAIN.fullmatch(text):
        return text
    return quote(_STRAY_PERCENT.sub("%25", text), safe=safe)


def _path(template: str, values: JsonObject) -> str:
    filled = PLACEHOLDER.sub(lambda m: quote(path_text(m[1], values[m[1]]), safe=""), template)
    if filled == template:
        return _fixed_path(template)
    has_dots = any(unquote(segment) in {".", ".."} for segment in filled.split("/"))
    if has_dots:
        raise invalid("the filled-in url holds . or .. as a part of its path")
    return _encoded(filled, _PATH_SAFE) or "/"


@lru_cache(maxsize=4096)
def _fixed_path(path: str) -> str:
    """A path in which no call fills in anything."""
    return _encoded(path, _PATH_SAFE) or "/"


def _query_part(name: str, value: Json) -> str:
    if value is None:
        raise invalid(f"{name}: null cannot be part of a url")
    return quote(plain(value), safe="")


def _host_part(name: str, value: Json) -> str:
    text = plain(value)
    if value is None or not _HOST_PART.fullmatch(text):
        raise invalid(f"{name}: only letters, digits, hyphens and dots can be part of a host")
    return text


@lru_cache(maxsize=4096)
def _authority(text: str) -> tuple[str, str | None]:
    """The host with its port, and Basic credentials. Source: RFC 3986 §3.2, RFC 7617."""
    credentials, at, place = text.rpartition("@")
    found = _HOST.fullmatch(_ascii(place))
    if found is None or int(found["port"] or 0) > MAX_PORT or not _LABELS.fullmatch(found["host"]):
        raise invalid("the url has no valid host")
    if found["host"].startswith("["):
        try:
            ipaddress.IPv6Address(found["host"][1:-1])
        except ValueError as error:
            raise invalid("the url has no valid host") from error
    basic = base64.b64encode(unquote(credentials).encode()).decode()
    return found[0].lower(), f"Basic {basic}" if at else None


def _ascii(host: str) -> str:
    """A name in other scripts as DNS knows it. Source: RFC 3490."""
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError as error:
        raise invalid("the url has no valid host") from error
