"""A link passes what its weather lets through."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from tests.chaos.listener import Listener
from tests.chaos.proxy import Link, Streams

PATIENCE_S = 10.0


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Give back what comes."""
    while data := await reader.read(1024):
        writer.write(data)


@asynccontextmanager
async def linked() -> AsyncIterator[Link]:
    """A link to somebody who gives back what comes."""
    async with Listener(echo) as far, Link("test", partial(asyncio.open_connection, "127.0.0.1", far.port)) as link:
        yield link


async def connected(link: Link) -> Streams:
    """A connection through the link that has answered once."""
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    assert await said(reader, writer, b"hello") == b"hello"
    return reader, writer


async def said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> bytes:
    """What comes back when this is said; nothing when the connection is over."""
    writer.write(data)
    async with asyncio.timeout(PATIENCE_S):
        return await reader.read(1024)


async def test_a_clear_link_passes_everything() -> None:
    """Both ways, as it is."""
    async with linked() as link:
        reader, writer = await connected(link)
        assert await said(reader, writer, b"again") == b"again"
        writer.close()


async def test_a_held_link_passes_later_what_it_held() -> None:
    """Nothing while it holds, all of it afterwards."""
    async with linked() as link:
        reader, writer = await connected(link)
        link.turn("held")
        writer.write(b"late")
        answer = asyncio.ensure_future(reader.read(1024))
        done, _ = await asyncio.wait({answer}, timeout=0.1)
        assert not done
        link.clear()
        async with asyncio.timeout(PATIENCE_S):
            assert await answer == b"late"
        writer.close()


async def test_a_lost_link_swallows_and_then_cuts_who_lost_something() -> None:
    """A connection that was silent meanwhile goes on."""
    async with linked() as link:
        reader, writer = await connected(link)
        silent_reader, silent_writer = await connected(link)
        link.turn("lost")
        writer.write(b"gone")
        answer = asyncio.ensure_future(reader.read(1024))
        done, _ = await asyncio.wait({answer}, timeout=0.1)
        assert not done
        link.clear()
        with pytest.raises(ConnectionResetError):
            await answer
        assert await said(silent_reader, silent_writer, b"here") == b"here"
        silent_writer.close()


async def test_a_reset_link_resets_everybody() -> None:
    """Who is connected, and who comes; afterwards it passes again."""
    async with linked() as link:
        reader, _ = await connected(link)
        link.turn("reset")
        with pytest.raises(ConnectionResetError):
            await reader.read(1024)
        with pytest.raises(OSError, match=r"reset|closed"):
            await connected(link)
        link.clear()
        _, writer = await connected(link)
        writer.close()


async def test_half_an_answer_comes_and_then_a_reset() -> None:
    """What is asked still arrives."""
    async with linked() as link:
        reader, writer = await connected(link)
        link.turn("half")
        assert await said(reader, writer, b"12345678") == b"1234"
        with pytest.raises(ConnectionResetError):
            await reader.read(1024)
