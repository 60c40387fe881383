"""The headers of a request: who may set which, and which nobody may."""

import base64
from collections.abc import Collection, Mapping

from toolbus_contracts.requests.texts import cookie_text, header_text, invalid
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.tools.credentials import ApiAuth
from toolbus_contracts.values import Json

# Source: RFC 9110 §7.6.1 and §7.2: these speak about the connection and the framing, which are not ours to set here.
FORBIDDEN = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
ACCEPT_ENCODING = "gzip, deflate"  # what `decompression` can bound
MAX_HEADERS_CHARS = 64 * 1024
IDEMPOTENCY_KEY = "idempotency-key"


def written(given: JsonObject) -> dict[str, str]:
    """
    Headers as text, by lower-case name; null is left out.

    Raises:
        Refused: `request_invalid` for a name or value that no request may carry.
    """
    found: dict[str, str] = {}
    for name, value in given.items():
        if name.lower() in FORBIDDEN:
            raise invalid(f"header {name} is set by the connection, not by a definition or a call")
        if name.lower() in found:
            raise invalid(f"header {name} is given twice")
        if value is not None:
            found[name.lower()] = header_text(name, value)
    return found


def authorization(auth: ApiAuth) -> str:
    """
    The Authorization header. Source: RFC 6750 §2.1, RFC 7617.

    Raises:
        Refused: `request_invalid` for a user name with a colon, which would begin the password.
    """
    if auth.basic is None:
        return f"Bearer {auth.bearer}"
    if ":" in auth.basic.username:
        raise invalid("auth: a user name cannot hold a colon")
    pair = f"{auth.basic.username}:{auth.basic.password}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def cookie_header(cookies: JsonObject) -> str:
    """All cookies in one header. Source: RFC 6265 §4.2."""
    return "; ".join(cookie_text(name, value) for name, value in cookies.items() if value is not None)


def cookie_names(headers: Mapping[str, Json]) -> frozenset[str]:
    """The names of the cookies that stand in a header. Raises: Refused, it is no header."""
    return frozenset(_cookie_name(one) for told in _cookies_in(headers).values() for one in told.split(";"))


def without_cookies(headers: JsonObject, taken: Collection[str]) -> JsonObject:
    """The headers without the cookies of these names. Raises: Refused, one that holds cookies is no header."""
    if not taken:
        return headers
    left = {
        header: ";".join(one for one in told.split(";") if _cookie_name(one) not in taken).strip()
        for header, told in _cookies_in(headers).items()
    }
    return {name: (left[name] or None) if name in left else value for name, value in headers.items()}


def _cookies_in(headers: Mapping[str, Json]) -> dict[str, str]:
    found = {name: value for name, value in headers.items() if value is not None and name.lower() == "cookie"}
    return {name: header_text(name, value) for name, value in found.items()}


def _cookie_name(pair: str) -> str:
    return pair.partition("=")[0].strip()


def defaults(user_agent: str) -> dict[str, str]:
    """What goes out unless somebody says otherwise."""
    return {"user-agent": user_agent, "accept": "*/*", "accept-encoding": ACCEPT_ENCODING}


def checked(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """
    The headers in their order.

    Raises:
        Refused: `request_invalid` when they are too long to be taken by any server.
    """
    if sum(len(name) + len(value) for name, value in headers.items()) > MAX_HEADERS_CHARS:
        raise invalid(f"the headers are longer than {MAX_HEADERS_CHARS} characters")
    return tuple(headers.items())
