"""Lines that a process writes: each is handed on, not faster than they can be read."""

import asyncio

from toolbus_integrations.hosting.lines import LAST_LINES, LINES_AT_ONCE, PAUSE_S, pass_lines


def reader(*pieces: bytes, limit: int = 64) -> asyncio.StreamReader:
    """What was written, to its end."""
    made = asyncio.StreamReader(limit=limit)
    for piece in pieces:
        made.feed_data(piece)
    made.feed_eof()
    return made


async def test_every_line_is_handed_on() -> None:
    """Without what ends it, whatever its bytes; one that is too long in parts, and the last without its end too."""
    found: list[str] = []
    await pass_lines(
        reader(b"one\n", b"t\xffwo\r\n", b"\n", b"x" * 100 + b"\n", b"last"), found.append, asyncio.Event()
    )
    assert found[:3] == ["one", "t\ufffdwo", ""]
    assert "".join(found[3:]) == "x" * 100 + "last"


async def test_many_lines_take_their_time() -> None:
    """A pause behind so many; meanwhile others have their turn."""
    found: list[str] = []
    loop = asyncio.get_running_loop()
    began = loop.time()
    await pass_lines(reader(b"\n" * (2 * LINES_AT_ONCE + 1), limit=2**16), found.append, asyncio.Event())
    assert len(found) == 2 * LINES_AT_ONCE + 1
    assert loop.time() - began >= 2 * PAUSE_S * 0.9


async def test_of_a_process_that_has_ended_the_last_lines_are_read_at_once() -> None:
    """Some of them are handed on, and the others read all the same: it counts as running until then."""
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
    assert LAST_LINES <= len(found) <= LAST_LINES + LINES_AT_ONCE
