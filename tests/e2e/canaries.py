"""Secrets that must not be found anywhere, and a target that does its best to give them away."""

import asyncio
import base64
import json
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from tests.integration.api_caller.raw_target import Seen, reset, response
from tests.secret_forms import FORMS, needles

COUNT = 50
PLACES = ("header", "named", "params", "cookie", "json", "data", "bearer", "basic")
KINDS = ("ok", "text", "error", "refused", "home", "away", "leak", "large", "broken", "garbled", "hang")
OPEN_PLACES = frozenset({"json", "data"})  # where any text may stand; in headers only printable ASCII


class Canary(NamedTuple):
    """One secret: where in a request it stands, and what the target does with it."""

    name: str
    value: str
    place: str
    kind: str
    source: str

    @property
    def method(self) -> str:
        """POST where there is a body, and for some of the others."""
        return "POST" if self.place in OPEN_PLACES or self.name.endswith(("1", "4", "7")) else "GET"

    def section(self, url: str) -> dict[str, Any]:
        """The api_call that sends it."""
        reference = f"secret://{self.name}"
        filled: dict[str, dict[str, Any]] = {
            "header": {"headers": {"x-key": reference}},
            "named": {"secrets": {"x-key": {"name": self.name}}},
            "params": {"params": {"key": reference}},
            "cookie": {"cookies": {"key": reference}},
            "json": {"json": {"deep": [{"key": reference}]}},
            "data": {"data": {"key": reference}},
            "bearer": {"auth": {"bearer": reference}},
            "basic": {"auth": {"basic": {"username": "ana", "password": reference}}},
        }
        whole = {"method": self.method, "url": f"{url}/{self.kind}/{self.name}", "follow_redirects": True}
        return {**whole, **filled[self.place]}

    def has_come(self, seen: Seen) -> bool:
        """Whether the request brought it."""
        match self.place:
            case "header" | "named":
                return seen.header("x-key") == self.value
            case "params":
                return parse_qs(urlsplit(seen.line.split(" ")[1]).query).get("key") == [self.value]
            case "cookie":
                return seen.header("cookie") == f"key={self.value}"
            case "json":
                return bool(json.loads(seen.body or b"{}") == {"deep": [{"key": self.value}]})
            case "data":
                return parse_qs(seen.body.decode()).get("key") == [self.value]
            case "bearer":
                return seen.header("authorization") == f"Bearer {self.value}"
            case _:
                told = base64.b64decode((seen.header("authorization") or "").removeprefix("Basic "))
                return told == f"ana:{self.value}".encode()


def _value(number: int, place: str) -> str:
    """Random, in the shapes that secrets have."""
    random = secrets.token_hex(12)
    shapes = (
        f"sk_live_{random}",
        base64.b64encode(bytes.fromhex(random) + b"\xff\xfe\xfb\xef").decode(),
        f"p%41 \"w{random}'<&>\\/+=!~",
        f"{random[:8]}.{secrets.token_urlsafe(64)}.{secrets.token_urlsafe(32)}",
    )
    if place in OPEN_PLACES and number % 2:
        return f"-----BEGIN KEY-----\n{random}\n\U0001f511 schl\u00fcssel\n-----END KEY-----"
    return shapes[number % len(shapes)]


def make_canaries() -> dict[str, Canary]:
    """Fifty of them, by name, over all places, kinds of answers and sources."""
    found = {}
    for number in range(COUNT):
        place, kind = PLACES[number % len(PLACES)], KINDS[number % len(KINDS)]
        source = ("table", "table", "table", "folder", "environment")[number % 5]
        found[f"canary_{number}"] = Canary(f"canary_{number}", _value(number, place), place, kind, source)
    return found


class Traitor:
    """Answers each request with the secret that came with it, in every form; notes which have come."""

    def __init__(self, canaries: dict[str, Canary]) -> None:
        self.canaries = dict(canaries)
        self.url = ""
        self.elsewhere = ""
        self.came: set[str] = set()
        self.home: set[str] = set()

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        """Answer as the kind of the canary says."""
        _, kind, name = urlsplit(seen.line.split(" ")[1]).path.split("/")
        canary = self.canaries[name]
        if canary.has_come(seen):
            (self.home if kind == "ok" else self.came).add(name)
        if kind == "hang":
            await asyncio.Event().wait()
        writer.write(self._written(kind, canary))
        await writer.drain()
        if kind == "broken":
            reset(writer)
        return kind not in {"broken", "garbled"}

    def _written(self, kind: str, canary: Canary) -> bytes:
        said = [write(canary.value) for write in FORMS.values()]
        plain = canary.value.encode("ascii", "ignore").decode().replace("\n", " ")
        echo = (f"X-Echo: {plain}", f"X-Coded: {quote(canary.value, safe='')}", f"Set-Cookie: key={plain}")
        body = giveaway([canary.value])
        kind_of_json = "Content-Type: application/json"
        match kind:
            case "home":
                return response(b"", f"Location: {self.url}/ok/{canary.name}", status="307 Home")
            case "away":
                return response(b"", f"Location: {self.elsewhere}/x", *echo, status="307 Away")
            case "leak":
                place = f"Location: {self.elsewhere}/x?key={quote(canary.value, safe='')}"
                return response(body, place, *echo, status="302 Away")
            case "error" | "refused":
                status = "503 " if kind == "error" else "422 "
                return response(body, kind_of_json, *echo, status=status + plain)
            case "text":
                return response(b"\n".join(said), *echo)
            case "large":
                return response(b'["' + b"x" * 200_000 + b'",' + body[1:], kind_of_json, *echo)
            case "broken":
                return response(body + b"." * 100, *echo)[:-80] + canary.value.encode()[: len(canary.value) // 2]
            case "garbled":
                return f"HTTP/1.1 {plain} is no status\r\n{plain}\r\n\r\n".encode()
            case _:
                return response(body, kind_of_json, *echo, status=f"200 {plain}")


def traces(values: Iterable[tuple[str, str]], told: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Every form of every value, given by name, that stands in any of the texts."""
    everything = list(told)
    for name, value in values:
        looked_for = needles(value)
        for where, data in everything:
            for form, needle in looked_for:
                if needle in data:
                    yield f"{name} in {where}: {form}"


def files_below(*places: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of these folders, and these files, each of which is there."""
    for place in places:
        if not place.is_dir():
            yield str(place), place.read_bytes()
            continue
        for path in sorted(place.rglob("*")):
            if path.is_file():
                yield str(path), path.read_bytes()


def giveaway(values: Iterable[str]) -> bytes:
    """A body in JSON that holds these values in every form."""
    written = [write(value) for value in values for write in FORMS.values()]
    return json.dumps([one.decode("latin-1") for one in written if b"\0" not in one]).encode()  # no JSON has a NUL
