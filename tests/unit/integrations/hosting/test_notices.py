"""What is read of a pipe of notices: all that was noted before, and no more than could be."""

import asyncio
import os
import threading
from collections.abc import Callable

import pytest

from toolbus_integrations.host.frames import SENT, BrokenStreamError
from toolbus_integrations.hosting.notices import Notices


class Pipe:
    """Both ends, and what was noted."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        os.set_blocking(reading, False)
        self.noted: list[int] = []
        self.notices = Notices(reading, self.noted.append)

    def write(self, *numbers: int) -> None:
        """Note these calls."""
        os.write(self.writing, b"".join(map(SENT.pack, numbers)))


@pytest.fixture
async def pipe() -> Pipe:
    """A pipe, in a loop that runs."""
    return Pipe()


async def test_what_was_noted_is_known_once(pipe: Pipe) -> None:
    """In its order; nothing when nothing came, and nothing behind the end."""
    pipe.notices.read(0)
    pipe.write(1, 2)
    pipe.write(3)
    pipe.notices.read(3)
    pipe.notices.read(3)
    assert pipe.noted == [1, 2, 3]
    pipe.write(4)
    os.close(pipe.writing)
    for _ in range(2):
        pipe.notices.read(4)
    assert pipe.noted == [1, 2, 3, 4]
    pipe.notices.close()


async def test_the_loop_is_told_when_something_comes(pipe: Pipe) -> None:
    """Until it is closed."""
    came = asyncio.Event()
    pipe.notices.watch(came.set)
    pipe.write(1)
    await asyncio.wait_for(came.wait(), 5)
    pipe.notices.close()
    os.close(pipe.writing)


@pytest.mark.parametrize("written", [SENT.pack(1) * 2, SENT.pack(1) + b"half", b"half"])
async def test_more_than_was_asked_and_what_is_no_notice(pipe: Pipe, written: bytes) -> None:
    """Each call is noted once, and whole."""
    os.write(pipe.writing, written)
    with pytest.raises(BrokenStreamError, match="not asked"):
        pipe.notices.read(1)
    pipe.notices.close()
    os.close(pipe.writing)


async def test_whoever_writes_without_end_is_not_read_without_end(pipe: Pipe) -> None:
    """A look takes what the pipe can hold, however fast it is filled again."""
    writer = threading.Thread(target=_write, args=(pipe.writing,))
    writer.start()
    try:
        await asyncio.wait_for(asyncio.to_thread(pipe.notices.read, 10**9), 10)
    finally:
        pipe.notices.close()
        writer.join()
    assert pipe.noted


def _write(pipe: int, write: Callable[[int, bytes], int] = os.write) -> None:
    try:
        while True:
            write(pipe, SENT.pack(1) * 512)
    except BrokenPipeError:
        os.close(pipe)
