"""
The HTTP request of a call, byte by byte as the executor sends it: made by the same function, with secrets by name.

A word that nobody can guess stands for each secret while the request is made. It is looked for afterwards, so that what
a model writes as `secret://name` can be told from what is filled in.
"""

import base64
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from toolbus_approvals.inbox.values import MAX_CHARS
from toolbus_contracts.digests import digest_bytes
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.references import secret_names
from toolbus_contracts.requests.request import HttpRequest, http_request
from toolbus_contracts.secrets import SCHEME
from toolbus_contracts.tools import JsonObject, Terms, ToolDefinition
from toolbus_contracts.values import Json

ANY_HOST: Final = ("*",)  # where a secret may go is known to the executor, which looks again
BASIC: Final = "Basic "
WORD_CHARS: Final = 32
NO_TEXT: Final = "[\udc80-\udcff]+"  # how Python decodes bytes that are no UTF-8


@dataclass(frozen=True)
class Waiting:
    """The call of a wait, as its request is made of it: large arguments are whole here."""

    call_id: str
    definition: ToolDefinition
    setup: JsonObject
    arguments: Json
    terms: Terms
    on_behalf_of: str | None


class Piece(NamedTuple):
    """A part of what is sent: text as it is, the name of a secret that is filled in then, or bytes that are no text."""

    text: str
    kind: Literal["text", "secret", "bytes"] = "text"


@dataclass(frozen=True)
class Body:
    """The bytes behind the headers, and their digest: there is none while secrets are still to be filled in."""

    pieces: tuple[Piece, ...]
    is_shortened: bool
    size_bytes: int
    digest: str | None


@dataclass(frozen=True)
class Exact:
    """All that is sent, but for `host` and `content-length`, which the connection adds."""

    first_line: tuple[Piece, ...]
    headers: tuple[tuple[str, tuple[Piece, ...]], ...]
    body: Body | None
    has_secrets: bool


def exact_of(waiting: Waiting, user_agent: str) -> Exact:
    """
    The request of a call.

    Raises:
        Refused: `request_invalid`, `secret_not_allowed`: the executor refuses it as well.
    """
    names = secret_names(waiting.definition, waiting.setup)
    words = {secrets.token_hex(WORD_CHARS // 2): name for name in names}
    filled = {name: Secret(name, word, hosts=ANY_HOST) for word, name in words.items()}
    request = http_request(waiting, user_agent=user_agent, secrets=filled)
    return Exact(
        _pieces(f"{request.method} {request.url}", words),
        tuple((name, _header(name, text, words)) for name, text in request.headers),
        _body(request, words),
        has_secrets=bool(names),
    )


def _header(name: str, text: str, words: Mapping[str, str]) -> tuple[Piece, ...]:
    """The text of a header; base64 of user and password would not tell which secret is in it."""
    if name == "authorization" and text.startswith(BASIC):
        pieces = _pieces(_pair(text.removeprefix(BASIC)), words)
        if any(piece.kind == "secret" for piece in pieces):
            return (Piece(f"{BASIC}base64("), *pieces, Piece(")"))
    return _pieces(text, words)


def _pair(encoded: str) -> str:
    try:
        return base64.b64decode(encoded).decode()
    except ValueError:
        return ""  # a definition may send anything there


def _body(request: HttpRequest, words: Mapping[str, str]) -> Body | None:
    if request.body is None:
        return None
    text = request.body.decode(errors="surrogateescape")
    return Body(
        tuple(_cut(_pieces(text[: MAX_CHARS + WORD_CHARS], words))),
        is_shortened=len(text) > MAX_CHARS,
        size_bytes=len(request.body),
        digest=None if any(word in text for word in words) else digest_bytes(request.body),
    )


def _pieces(text: str, words: Mapping[str, str]) -> tuple[Piece, ...]:
    parts = re.split(f"({'|'.join((NO_TEXT, *words))})", text)
    return tuple(_piece(part, words) for part in parts if part)


def _piece(part: str, words: Mapping[str, str]) -> Piece:
    if part in words:
        return Piece(SCHEME + words[part], "secret")
    if re.match(NO_TEXT, part):
        return Piece(part.encode(errors="surrogateescape").hex(), "bytes")
    return Piece(part)


def _cut(pieces: Iterable[Piece]) -> Iterator[Piece]:
    room = MAX_CHARS
    for piece in pieces:
        if room > 0:
            yield piece if piece.kind == "secret" else Piece(piece.text[:room], piece.kind)
        room -= len(piece.text)
