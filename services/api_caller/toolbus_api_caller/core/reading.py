"""Reading an answer piece by piece: unpacked, within its bound, and useful even when it breaks off."""

import re

from toolbus_api_caller.core.response import HttpAnswer, readable_headers
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.executing.decompression import Decoder, Identity, decoder_for
from toolbus_contracts.executing.outcomes import Failure

MAX_ERROR_BYTES = 64 * 1024  # of the body behind a status that is no success
_LENGTH = re.compile(rb"[0-9]{1,18}")
_SPARE_WIRE_BYTES = 64 * 1024  # compressed, a small body may be longer than unpacked


class AnswerReader:
    """
    Collects one answer; `begin` when the status has come, `take` for every piece of the body.

    `free_bytes`: how much it holds without asking. When it `needs_room` for more, `widen` says that it
    may hold `most_bytes`; until then nothing more is unpacked.
    """

    def __init__(self, max_bytes: int, *, free_bytes: int | None = None) -> None:
        self._max_bytes = max_bytes
        self._free_bytes = free_bytes  # none once it may hold all
        self._status_code: int | None = None
        self._headers: tuple[tuple[bytes, bytes], ...] = ()
        self._decoder: Decoder = Identity()
        self._body = bytearray()
        self._wire = bytearray()  # kept only while unpacking, for the case that it cannot be unpacked
        self._is_packed = False
        self._is_too_large = False
        self._flaw: str | None = None

    @property
    def held_bytes(self) -> int:
        """How much it holds."""
        return len(self._body) + len(self._wire)

    @property
    def needs_room(self) -> bool:
        """Whether it came to hold more than it may without asking."""
        return self._free_bytes is not None and self.held_bytes > self._free_bytes

    @property
    def most_bytes(self) -> int:
        """
        How much it will hold at most.

        A packed body counts twice, packed and unpacked; more than that is held only of one that packing
        made longer, and briefly.
        """
        if self._is_packed:
            return 2 * self._max_bytes
        told = next((value for name, value in self._headers if name.lower() == b"content-length"), b"")
        return min(int(told), self._max_bytes) if _LENGTH.fullmatch(told) else self._max_bytes

    def begin(self, status_code: int, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        """Status and headers have come."""
        self._status_code = status_code
        self._headers = headers
        if not 200 <= status_code <= 299:  # noqa: PLR2004 - the class of success
            self._max_bytes = min(self._max_bytes, MAX_ERROR_BYTES)
        encoding = next((value for name, value in headers if name.lower() == b"content-encoding"), None)
        if encoding is None:
            return
        named = readable_headers(headers, len(headers) * 64 * 1024)[0]["content-encoding"]
        decoder = decoder_for(named)
        if decoder is None:
            self._flaw = f"the body is encoded as {named[:64]}, which is not unpacked"
        else:
            self._decoder, self._is_packed = decoder, not isinstance(decoder, Identity)

    def take(self, piece: bytes) -> bool:
        """One more piece of the body; false when reading is to stop."""
        if self._is_packed:
            self._wire += piece
            self._unpack(piece)
        else:
            self._body += piece
        return self._is_going_on()

    def widen(self) -> bool:
        """It may hold all that comes from now on; false when reading is to stop."""
        self._free_bytes = None
        if self._is_packed:
            self._unpack(b"")
        return self._is_going_on()

    def _is_going_on(self) -> bool:
        too_much_wire = len(self._wire) > 2 * self._max_bytes + _SPARE_WIRE_BYTES
        if len(self._body) > self._max_bytes or too_much_wire:
            self._is_too_large = True
            del self._body[self._max_bytes :]
        return not self._is_too_large

    def answer(self, failure: Failure | None = None) -> HttpAnswer:
        """What was read, complete unless `failure` says why it is not."""
        if self._status_code is None:
            raise AssertionError("the status comes before the answer")
        if failure is None and not self._is_too_large and not self._decoder.is_complete():
            self._give_up("the compressed body ends too early")
        return HttpAnswer(
            status_code=self._status_code,
            headers=self._headers,
            body=bytes(self._body),
            is_too_large=self._is_too_large,
            flaw=self._flaw,
            failure=failure,
        )

    def broken(self, failure: Failure) -> HttpAnswer | Failure:
        """What is left when the exchange fails: the answer as far as it came, if its status did."""
        return failure if self._status_code is None else self.answer(failure)

    def _unpack(self, piece: bytes) -> None:
        bound = self._max_bytes if self._free_bytes is None else min(self._max_bytes, self._free_bytes)
        room = bound + 1 - len(self._body)
        try:
            self._body += self._decoder.feed(piece, room)
        except Unreadable as error:
            self._give_up(error.message)

    def _give_up(self, reason: str) -> None:
        """Keep the body as it came over the wire."""
        self._flaw = reason
        self._body = self._wire
        self._wire = bytearray()
        self._decoder, self._is_packed = Identity(), False
