"""Following a redirect: what is sent to the next place, and what stays behind. Source: RFC 9110 §15.4."""

import dataclasses
from urllib.parse import urljoin, urlsplit

from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.redaction import RedactionFailed
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.requests.target import compose

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 10
# What may follow to another origin; anything else may be a credential, or mean something else there.
_HARMLESS = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "idempotency-key", "user-agent"})


def next_request(request: HttpRequest, status_code: int, location: str) -> HttpRequest | None:
    """
    The request that follows a redirect, or none when the answer does not lead anywhere.

    A 303, and a POST answered by 301 or 302, go on as GET without a body. To another origin only
    harmless headers go along. A step from http to https on the usual ports stays at home.

    Raises:
        Refused: `secret_not_allowed`, a secret would go along to another origin, in the url or the body;
            `redaction_failed`, that cannot be told.
    """
    if status_code not in REDIRECTS or not location:
        return None
    try:
        url, authorization = compose(_encoded(urljoin(request.url, location)), {}, ())
    except (Refused, ValueError):
        return None
    becomes_get = request.method != "HEAD" and (
        status_code == 303 or (status_code in {301, 302} and request.method == "POST")  # noqa: PLR2004 - named above
    )
    if authorization is not None:
        return None  # credentials that the target chose
    is_at_home = _is_at_home(request.url, url)
    headers = request.headers if is_at_home else tuple(pair for pair in request.headers if pair[0] in _HARMLESS)
    following = dataclasses.replace(request, url=url, headers=headers)
    if becomes_get:
        kept = tuple(pair for pair in headers if pair[0] != "content-type")
        following = dataclasses.replace(following, headers=kept, method="GET", body=None)
    return following if is_at_home and request.secrets else _without_secrets(following)


def _without_secrets(request: HttpRequest) -> HttpRequest:
    """The request, which has none of the secrets in it; those of its first origin are nobody else's."""
    if request.redactor:
        told = " ".join((request.url, *(text for pair in request.headers for text in pair))).encode()
        try:
            names = sorted(request.redactor.names_in(told) | request.redactor.names_in(request.body or b""))
        except RedactionFailed as error:
            raise Refused("redaction_failed", f"the redirect is not followed: {error}") from error
        if names:
            message = f"the redirect would take secret {names[0]} to another origin"
            raise Refused("secret_not_allowed", message)
    return dataclasses.replace(request, secrets=())


def _is_at_home(before: str, after: str) -> bool:
    one, other = urlsplit(before), urlsplit(after)
    is_upgrade = (
        (one.scheme, other.scheme) == ("http", "https") and one.port in {None, 80} and other.port in {None, 443}
    )
    return one[:2] == other[:2] or (is_upgrade and one.hostname == other.hostname)


def _encoded(url: str) -> str:
    """Braces are only letters here: no name is filled into a location."""
    return url.replace("{", "%7B").replace("}", "%7D")
