"""One call on a connection: whether it was handed over, and what came back, as our own transport sees it."""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Literal

from toolbus_contracts.calls import ResponseExcerpt
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.redaction import RedactionFailed, Redactor
from toolbus_contracts.retry_after import retry_after_s
from toolbus_integrations.core.mcp_answers import Heard
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.runs import Run

MAX_EXCERPT_BYTES = 4 * 1024
MAX_EXCERPT_HEADERS = 64
SESSION_HEADER = "mcp-session-id"
NOT_FOUND = 404
BAD_REQUEST = 400
NOTHING = Redactor()
STOPPED = "the call was to be stopped"
FailureKind = Literal["timeout", "lost", "denied", "too_late", "unwanted"]


class NotHandedOver(Exception):
    """Nothing may leave any more: the permission ran out, or the call is to be stopped."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class Exchange:
    """
    What is known of one call.

    `is_asked`: the library was told to make it. `is_seen`: our transport was given its request; between the two nobody
    can tell whether something was sent, and it is taken for sent. `is_cut`: the answer ended before it was whole.
    `is_unreadable`: it is no answer of the protocol. `is_over`: nobody waits any more, and what was not handed over by
    then never is. `redactor` takes the secrets out of what is shown of an answer.
    """

    def __init__(
        self, clock: Clock, run: Run, *, send_by: float | None, max_bytes: int, redactor: Redactor = NOTHING
    ) -> None:
        self.max_bytes = max_bytes
        self.is_asked = False
        self.is_seen = False
        self.is_sent = False
        self.is_cut = False
        self.is_over = False
        self.is_too_large = False
        self.is_unreadable = False
        self._clock = clock
        self._run = run
        self._send_by = send_by
        self._redactor = redactor
        self._body: bytes | None = None
        self._failure: tuple[FailureKind, str] | None = None
        self._is_session_gone = False
        self._is_rpc = False
        self._response: ResponseExcerpt | None = None
        self._retry_after_s: float | None = None
        self._hang_up: Callable[[], Awaitable[None]] | None = None

    def owns(self, body: bytes) -> bool:
        """Whether a request with this body is that of the call: the first one, and the same again after a redirect."""
        if self._body is None:
            self._body, self.is_seen = body, True
        return self._body == body

    def hand_over(self, hang_up: Callable[[], Awaitable[None]] | None = None) -> None:
        """
        Note that bytes may leave from now on; `hang_up` ends the connection that they leave over.

        Raises:
            NotHandedOver: the permission has run out, or the call is to be stopped.
        """
        if not self.is_sent:
            if self.is_over or not self._run.is_wanted(is_sent=False):
                raise NotHandedOver("unwanted", f"nothing was sent: {STOPPED}")
            now_s = self._clock.steady_s()
            if self._send_by is not None and now_s > self._send_by:
                raise NotHandedOver("too_late", "the permission to send ran out before the connection was ready")
            self.is_asked = self.is_seen = self.is_sent = True
            self._run.sent_s = now_s
        self._hang_up = hang_up

    def fail(self, kind: FailureKind, message: str) -> None:
        """Note why no complete answer came; the first reason counts."""
        if self._failure is None:
            self._failure = kind, message

    def note_refusal(
        self, status: int, headers: Mapping[str, str], body: bytes, *, has_session: bool, now: datetime
    ) -> None:
        """Note an answer whose status tells an error."""
        text = body.decode("utf-8", "replace")
        shown = dict(list(headers.items())[:MAX_EXCERPT_HEADERS])
        said = self._concealed(body).decode("utf-8", "replace").replace("\x00", "\ufffd")
        cut = said.encode()[:MAX_EXCERPT_BYTES].decode("utf-8", "ignore")
        self._response = ResponseExcerpt(status_code=status, headers=shown, body_excerpt=cut)
        self._retry_after_s = retry_after_s([(k.encode(), v.encode("latin-1")) for k, v in headers.items()], now)
        self._is_rpc = '"jsonrpc"' in text and '"error"' in text
        # Source: MCP 2025-11-25, "Session Management": 404 for a session that is over. Servers made before it was
        # written answer 400 and name the session.
        names_session = status == BAD_REQUEST and "session" in text.lower()
        self._is_session_gone = has_session and (status == NOT_FOUND or names_session)

    def _concealed(self, body: bytes) -> bytes:
        """The body without the secrets: what is shown of it is cut off, and half of one would not be found any more."""
        try:
            return self._redactor.in_bytes(body)
        except RedactionFailed:
            return b""

    @property
    def was_sent(self) -> bool:
        """Whether something may have left: what our transport did not see counts as sent."""
        return self.is_sent or (self.is_asked and not self.is_seen)

    def heard(self) -> Heard:
        """What is known at the end."""
        failure = None
        if self._failure is not None:
            kind, message = self._failure
            failure = Failure(kind, message if self.was_sent else _unsent(message), self.was_sent)
        return Heard(
            failure=failure,
            is_too_large=self.is_too_large,
            is_unreadable=self.is_unreadable,
            is_session_gone=self._is_session_gone,
            is_rpc=self._is_rpc,
            response=self._response,
            retry_after_s=self._retry_after_s,
        )

    async def end(self) -> None:
        """Nobody waits for the answer any more: nothing is handed over, and what it would have come over is closed."""
        self.is_over = True
        if self._hang_up is not None:
            await self._hang_up()


def _unsent(message: str) -> str:
    return message if message.startswith("nothing was sent") else f"nothing was sent: {message}"


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)
