"""Bodies in gzip and deflate, unpacked within a bound. Source: RFC 9110 §8.4.1."""

import zlib
from typing import Protocol

from toolbus_contracts.errors import Unreadable

_ANY_WRAPPER = zlib.MAX_WBITS | 32  # gzip or zlib, told by its head
_RAW = -zlib.MAX_WBITS  # deflate without a wrapper, which some servers send


class Decoder(Protocol):
    """Turns what the wire carries into the body, piece by piece."""

    def feed(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes more of the body; what has no room waits for the next time."""
        ...

    def is_complete(self) -> bool:
        """True when the body may end here."""
        ...


def decoder_for(content_encoding: str) -> Decoder | None:
    """The decoder of a content-encoding; none when we do not know it, and the body stays as it is."""
    match content_encoding.strip().lower():
        case "" | "identity":
            return Identity()
        case "gzip" | "x-gzip" | "deflate":
            return Inflate()
        case _:
            return None


class Identity:
    """A body that is sent as it is."""

    def feed(self, data: bytes, room: int) -> bytes:
        """Hand on what came, as far as there is room."""
        return data[:room]

    def is_complete(self) -> bool:
        """A plain body ends where the connection says so."""
        return True


class Inflate:
    """A body in gzip (of any number of members) or deflate (with or without its wrapper)."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_ANY_WRAPPER)
        self._is_fresh = True
        self._rest = b""
        self._is_full = False  # more may come of what was read already

    def feed(self, data: bytes, room: int) -> bytes:
        """
        Unpack, never beyond `room` bytes.

        Raises:
            Unreadable: `invalid_value`, the data is not what its header says.
        """
        found = bytearray()
        data = self._rest + data if self._rest else data
        while (data or self._is_full) and len(found) < room:
            found += self._unpack(data, room - len(found))
            self._is_full = len(found) >= room and not self._stream.eof
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            if data and self._stream.eof:
                self._stream = zlib.decompressobj(_ANY_WRAPPER)
        self._rest = data
        return bytes(found)

    def _unpack(self, data: bytes, room: int) -> bytes:
        try:
            found = self._stream.decompress(data, room)
        except zlib.error as error:
            if not self._is_fresh:
                raise Unreadable("invalid_value", f"the compressed body cannot be unpacked: {error}") from error
            self._stream = zlib.decompressobj(_RAW)
            self._is_fresh = False
            return self._unpack(data, room)
        self._is_fresh = False
        return found

    def is_complete(self) -> bool:
        """True when the compressed stream has come to its own end, or never began."""
        return self._is_fresh or self._stream.eof
