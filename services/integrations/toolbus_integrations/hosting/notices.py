"""What a process notes just before the first byte of a call may leave, as the service reads it."""

import asyncio
import os
from collections.abc import Callable
from typing import Final

from toolbus_integrations.host.frames import SENT, BrokenStreamError

READ_BYTES: Final = 64 * 1024  # a whole number of notices
READS: Final = 16  # together as much as the largest pipe holds: whoever writes on without end is not read without end


class Notices:
    """The reading end of the pipe; `on_sent` gets the number of each call that is noted. It is closed at its end."""

    def __init__(self, pipe: int, on_sent: Callable[[int], None]) -> None:
        self._pipe = pipe
        self._on_sent = on_sent
        self._noted = 0
        self._is_open = True
        self._loop = asyncio.get_running_loop()

    def watch(self, on_readable: Callable[[], None]) -> None:
        """Whenever something was noted, this is called."""
        self._loop.add_reader(self._pipe, on_readable)

    def read(self, asked: int) -> None:
        """
        All that was noted before is known; `asked` is how many calls there were so far, each of which is noted once.

        Raises:
            BrokenStreamError: more was noted, or what is no notice.
        """
        for _ in range(READS):
            if not self._is_open:
                return
            try:
                data = os.read(self._pipe, READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self.close()
            self._noted += len(data) // SENT.size
            if len(data) % SENT.size or self._noted > asked:
                raise BrokenStreamError("it noted what it was not asked")
            for (number,) in SENT.iter_unpack(data):
                self._on_sent(number)
            if len(data) < READ_BYTES:
                return

    def close(self) -> None:
        """Nothing is read any more."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
