"""Lines that a process writes: each is handed on, not faster than they can be read."""

import asyncio

import pytest

from toolbus_contracts.executing.secrets import Secret
from toolbus_integrations.hosting.lines import CUT, LAST_LINES, LINES_AT_ONCE, PAUSE_S, pass_lines
from toolbus_runtime.secrets.known import KnownSecrets

VALUE = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
LIMIT = 4096


def reader(*pieces: bytes, limit: int = LIMIT) -> asyncio.StreamReader:
    """What was written, to its end."""
    made = asyncio.StreamReader(limit=limit)
    for piece in pieces:
        made.feed_data(piece)
    made.feed_eof()
    return made


def known() -> KnownSecrets:
    """Two secrets that were used lately."""
    made = KnownSecrets()
    made.remember([Secret("key", VALUE), Secret("old", "p\u00e4ss-w\u00f6rd")])
    return made


async def test_every_line_is_handed_on() -> None:
    """Without what ends it, whatever its bytes; of one that is too long the beginning, and the last without its end."""
    found: list[str] = []
    written = (b"one\n", b"t\xffwo\r\n", b"\n", b"x" * 100 + b"\n", b"next\n", b"last")
    await pass_lines(reader(*written, limit=64), found.append, asyncio.Event(), search=KnownSecrets().in_said)
    assert found == ["one", "t\ufffdwo", "", "x" * 100 + CUT, "next", f"last{CUT}"]


async def test_lines_are_handed_on_without_secrets() -> None:
    """In whatever letters they are written."""
    found: list[str] = []
    written = (f"the key {VALUE}\n".encode(), b"p\xe4ss-w\xf6rd\n", VALUE.encode("utf-16-le") + b"\n")
    await pass_lines(reader(*written), found.append, asyncio.Event(), search=known().in_said)
    assert found == ["the key [secret:key]", "[secret:old]", "[secret:key]\0"]


@pytest.mark.parametrize("shown", range(1, len(VALUE)))
@pytest.mark.parametrize("before", [b"-" * LIMIT, VALUE.encode() * (LIMIT // len(VALUE))], ids=["plain", "full of it"])
async def test_no_half_of_a_secret_is_handed_on(before: bytes, shown: int) -> None:
    """Where a line is too long it may stand half on either side: the rest of the line is dropped."""
    lines, found = asyncio.StreamReader(limit=LIMIT), list[str]()

    def on_line(line: str) -> None:
        found.append(line)
        if len(found) == 1:
            lines.feed_data(VALUE[shown:].encode() + b" and more\nnext\n")
            lines.feed_eof()

    lines.feed_data(before + VALUE[:shown].encode())
    await pass_lines(lines, on_line, asyncio.Event(), search=known().in_said)
    first, *others = found
    assert others == ["next"]
    assert first.endswith(CUT)
    assert set(first.removesuffix(CUT).replace("[secret:key]", "")) <= {"-"}


async def test_what_a_process_did_not_write_to_its_end_is_not_told_to_its_end() -> None:
    """It was ended while it wrote a secret."""
    found: list[str] = []
    await pass_lines(reader(b"-" * 2000 + VALUE[:20].encode()), found.append, asyncio.Event(), search=known().in_said)
    assert len(found) == 1
    assert set(found[0].removesuffix(CUT)) == {"-"}


async def test_many_lines_take_their_time() -> None:
    """A pause behind so many; meanwhile others have their turn."""
    found: list[str] = []
    loop = asyncio.get_running_loop()
    began = loop.time()
    await pass_lines(reader(b"\n" * (2 * LINES_AT_ONCE + 1), limit=2**16), found.append, asyncio.Event())
    assert len(found) == 2 * LINES_AT_ONCE + 1
    assert loop.time() - began >= 2 * PAUSE_S * 0.9


async def test_of_a_process_that_has_ended_the_last_lines_are_read_at_once() -> None:
    """Some are handed on, and the others read and counted: it counts as running until then."""
    found: list[str] = []
    over, begun = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_line(line: str) -> None:
        found.append(line)
        begun.set()

    doing = asyncio.create_task(pass_lines(reader(b"\n" * 100_000, limit=2**18), on_line, over))
    await begun.wait()
    over.set()
    began = loop.time()
    await doing
    assert loop.time() - began < 100_000 / LINES_AT_ONCE * PAUSE_S / 2
    *told, last = found
    assert LAST_LINES <= len(told) <= LAST_LINES + LINES_AT_ONCE
    assert last == f"{CUT} {100_000 - len(told)} more lines"
