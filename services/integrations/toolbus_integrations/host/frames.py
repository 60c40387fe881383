"""Frames on a stream of bytes: four bytes of length, most significant first, then so many bytes of JSON."""

import asyncio
import struct
from collections.abc import Callable

LENGTH = struct.Struct(">I")
SENT = struct.Struct(">Q")  # on the pipe of notices: the number of a call, just before its first byte may leave


class BrokenStreamError(Exception):
    """What came is no frame, or one that is too large: nothing behind it can be read."""


def framed(body: bytes) -> bytes:
    """The frame around a body."""
    return LENGTH.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader, most_bytes: Callable[[], int]) -> bytes | None:
    """
    The body of the next frame; none when the stream has ended.

    Raises:
        BrokenStreamError: it is longer than `most_bytes`, which is asked when a frame comes, or broke off.
    """
    try:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        if length > (most := most_bytes()):
            raise BrokenStreamError(f"a frame of {length} bytes; at most {most} are taken")
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise BrokenStreamError("the stream broke off inside a frame") from error
        return None
    except ConnectionError:
        return None
