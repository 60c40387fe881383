"""
The outside world of a chaos run: an HTTP server that writes down every effect before it answers, and has moods.

Written on bare streams, because it also has to close, reset and fall silent where no HTTP library lets it.
"""

import asyncio
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, Self

import httpx
import orjson

from tests.chaos.evidence import Request
from tests.chaos.listener import Listener, abort
from tests.chaos.plan import FIND

Mood = Literal["answer", "slow", "error", "busy", "hang", "cut_before", "cut_request", "cut_after", "cut_answer"]
# How often in a hundred; the rest is answered at once.
MOODS: dict[Mood, float] = {
    "slow": 5,
    "error": 2,
    "busy": 3,
    "hang": 0.5,
    "cut_request": 0.5,
    "cut_after": 0.5,
    "cut_answer": 0.5,
}
CUT_BEFORE = 0.5  # of a hundred requests, the connection is closed instead of read once more
SLOW_S = (0.1, 1.2)
HANG_S = 6.0  # three times what a tool waits


class Manner(NamedTuple):
    """How one request is treated: its mood, the seconds it takes, the status that is answered."""

    mood: Mood
    delay_s: float = 0.0
    status: int = 200


class Target:
    """
    Answers `/<tool>/<name>`; how, follows from the seed, the name, and how often the name was asked for.

    `seed` none: every request is answered at once with 200. Each request is a line of the journal file. An effect
    happens when a request was read whole and is not answered with an error. `/find/<call id>` tells whether
    a request with this Idempotency-Key had one; it is always in the mood to answer.
    """

    def __init__(self, seed: int | None, journal: Path) -> None:
        self.requests: list[Request] = []
        self._seed = seed
        self._journal = journal
        self._seen: Counter[str] = Counter()
        self._turns = 0
        self._listener = Listener(self._serve)
        self._done: set[str] = set()

    async def __aenter__(self) -> Self:
        self._file = self._journal.open("ab", buffering=0)
        await self._listener.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.__aexit__()
        self._file.close()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listener.port

    def manner(self, name: str) -> Manner:
        """How the next request of this name is treated."""
        self._seen[name] += 1
        if self._seed is None:
            return Manner("answer")
        random = Random(f"{self._seed}:{name}:{self._seen[name]}")
        drawn = random.uniform(0, 100)
        for mood, share in MOODS.items():
            drawn -= share
            if drawn < 0:
                return _manner(mood, random)
        return Manner("answer")

    def is_cut_before(self) -> bool:
        """Whether a connection is closed now, instead of read from."""
        self._turns += 1
        return self._seed is not None and Random(f"{self._seed}:{self._turns}").uniform(0, 100) < CUT_BEFORE

    def has_done(self, call_id: str) -> bool:
        """Whether a request of this call had its effect."""
        return call_id in self._done

    def note(self, request: Request) -> None:
        """Write down what came, before anything is answered."""
        self.requests.append(request)
        if request.has_effect:
            self._done.add(request.call_id)
        self._file.write(orjson.dumps(request._asdict()) + b"\n")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await self._exchange(reader, writer):
            pass

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; false when the connection is over."""
        if self.is_cut_before():
            self.note(Request("", "", "", time.time(), "cut_before", 0, has_effect=False))
            abort(writer)
            return False
        line, headers = _head(await reader.readuntil(b"\r\n\r\n"))
        method, path = line.split(" ")[:2]
        _, tool, name = path.split("/")
        call_id = headers.get("idempotency-key", "")
        mood, delay_s, status = Manner("answer") if tool == FIND else self.manner(name)
        if mood == "cut_request":
            self.note(Request(call_id, name, method, time.time(), mood, 0, has_effect=False))
            abort(writer)
            return False
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        has_effect = method != "GET" and status < httpx.codes.BAD_REQUEST
        said = {"name": name, **orjson.loads(body or b"{}")}
        self.note(Request(call_id, name, method, time.time(), mood, status, has_effect=has_effect, said=said))
        if mood == "cut_after":
            abort(writer)
            return False
        await asyncio.sleep(delay_s)
        if writer.is_closing():  # who asked has given up meanwhile
            return False
        answer = _answer(status, {"name": name, "happened": self.has_done(name)})
        writer.write(answer[: len(answer) - 7] if mood == "cut_answer" else answer)
        await writer.drain()
        return mood != "cut_answer"


def _manner(mood: Mood, random: Random) -> Manner:
    match mood:
        case "slow":
            return Manner(mood, random.uniform(*SLOW_S))
        case "hang":
            return Manner(mood, HANG_S)
        case "error":
            return Manner(mood, 0.0, random.choice((500, 502)))
        case "busy":
            return Manner(mood, 0.0, random.choice((429, 503)))
        case _:
            return Manner(mood)


def _head(text: bytes) -> tuple[str, dict[str, str]]:
    line, *fields = text.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    return line, {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}


def _answer(status: int, body: dict[str, str | bool]) -> bytes:
    data = orjson.dumps(body)
    asks_for_patience = "retry-after: 1\r\n" if status in {429, 503} else ""
    head = f"HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\n{asks_for_patience}"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data
