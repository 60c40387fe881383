"""Questions to a process that are open, and why one was not answered."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from toolbus_contracts.integrations import ProviderFault
from toolbus_integrations.core.judging import MAX_WORDS
from toolbus_integrations.host.messages import FromHost
from toolbus_integrations.host.watch import OUT_OF_MEMORY

STOP_S: Final = 2.0
GIVE_S: Final = 30.0  # for what a method gave before it was stopped: behind others that are as large


class HostLost(Exception):
    """The process ended while it was at work. `is_sent`: something of this call may have left before."""

    def __init__(self, reason: str, *, is_sent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_sent = is_sent


def fault_of(said: ProviderFault) -> ProviderFault:
    """The fault that a process told of, with a code that we know."""
    code = said.code if said.code in {"provider_missing", "provider_failed"} else "provider_failed"
    return ProviderFault(code=code, message=said.message[:MAX_WORDS])


class ProviderBroken(Exception):
    """The provider cannot be loaded: it told why."""

    def __init__(self, fault: ProviderFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass
class Asked:
    """
    A question that is open. `on_sent` is called when the first byte of its call may leave.

    `has_returned`: its method had given its output before it was to be stopped.
    """

    answer: asyncio.Future[FromHost]
    on_sent: Callable[[], None]
    is_sent: bool = False
    has_returned: bool = False

    def note_sent(self) -> None:
        """Its call may have sent something."""
        if not self.is_sent:
            self.is_sent = True
            self.on_sent()

    async def stays_s(self) -> float:
        """It is to be stopped: for how many seconds it went on too long; 0 when it is answered in time."""
        await asyncio.wait({self.answer}, timeout=STOP_S)
        if self.has_returned:
            await asyncio.wait({self.answer}, timeout=GIVE_S)
        if self.answer.done():
            return 0.0
        return STOP_S + GIVE_S if self.has_returned else STOP_S

    def settle(self, said: FromHost) -> None:
        """It is answered."""
        if not self.answer.done():
            self.answer.set_result(said)

    def lose(self, reason: str) -> None:
        """It will not be answered."""
        if not self.answer.done():
            self.answer.set_exception(HostLost(reason, is_sent=self.is_sent))


def told(code: int, memory_bytes: int) -> str:
    """Why a process ended that was not ended by us."""
    if code == OUT_OF_MEMORY:
        return f"it took more memory than {memory_bytes // 1024**2} MiB"
    return f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
