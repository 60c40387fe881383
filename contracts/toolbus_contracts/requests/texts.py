"""How a JSON value is written as text in each place of a request."""

import re
from urllib.parse import quote

from toolbus_contracts.errors import Refused
from toolbus_contracts.values import Json, compact

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # Source: RFC 9110 §5.6.2
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")  # Source: RFC 9110 §5.5, without obs-text
_COOKIE_VALUE = re.compile(r"[\x20-\x3a\x3c-\x7e]*")  # Source: RFC 6265 §4.1.1, as lenient as browsers
_TRAVERSAL = re.compile(r"(^|[/\\])\.\.?([/\\]|$)")


def invalid(message: str) -> Refused:
    """The refusal of a definition and arguments that together make no valid request."""
    return Refused("request_invalid", message)


def plain(value: Json) -> str:
    """Text of one value: strings as they are, booleans and numbers and the rest as JSON."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else compact(value)  # an encoder made for each number costs 3 us


def pairs(name: str, value: Json) -> list[tuple[str, str]]:
    """Name and text as a query or form carries them: a list repeats the name, null is left out."""
    items = value if isinstance(value, list) else [value]
    return [(name, plain(item)) for item in items if item is not None]


def query_text(text: str) -> str:
    """A name or a text of a query, percent-encoded. Source: RFC 3986 §3.4."""
    return quote(text, safe="")


def path_text(name: str, value: Json) -> str:
    """
    Text of a path part, not encoded yet; a list is joined by commas.

    Raises:
        Refused: `request_invalid` for null, an object, nothing at all (it would name the whole
            collection) and `.` or `..` between slashes (it would name another resource).
    """
    if value is None or isinstance(value, dict):
        raise invalid(f"{name}: null and objects cannot be part of a path")
    text = ",".join(plain(item) for item in value) if isinstance(value, list) else plain(value)
    if not text:
        raise invalid(f"{name}: an empty text cannot be part of a path")
    if _TRAVERSAL.search(text):
        raise invalid(f"{name}: . and .. cannot be part of a path")
    return text


def header_text(name: str, value: Json) -> str:
    """
    Text of a header value; a list is joined by commas, objects are JSON in ASCII.

    Raises:
        Refused: `request_invalid` for a name that is no token, for control characters, and for
            text beyond ASCII, which receivers read in different ways.
    """
    if not TOKEN.fullmatch(name):
        raise invalid(f"{name!r} is not the name of a header")
    text = ", ".join(plain(item) for item in value) if isinstance(value, list) else plain(value)
    if not _HEADER_VALUE.fullmatch(text):
        raise invalid(f"header {name}: the value holds control characters or text beyond ASCII")
    return text


def cookie_text(name: str, value: Json) -> str:
    """
    One `name=value` of a cookie header.

    Raises:
        Refused: `request_invalid` for what cannot stand in a cookie.
    """
    text = plain(value)
    if not TOKEN.fullmatch(name):
        raise invalid(f"{name!r} is not the name of a cookie")
    if not _COOKIE_VALUE.fullmatch(text):
        raise invalid(f"cookie {name}: the value holds a semicolon, control characters or text beyond ASCII")
    return f"{name}={text}"
