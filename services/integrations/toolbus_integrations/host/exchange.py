"""What one call sends: under which rules, and whether anything may have left."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar

from toolbus_contracts.egress import EgressRules, Place
from toolbus_contracts.executing.redaction import RedactionFailed, Redactor
from toolbus_contracts.executing.secrets import Secret, check_place
from toolbus_runtime.executing.clock import Clock

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class TooLateError(Exception):
    """The time in which the call may send has passed, and nothing has left."""


class Exchange:
    """
    `on_sent` is called once, just before the first byte may leave, and has told the service when it returns.

    `send_by` is on the steady clock. `effects` counts what was sent that may have changed something.
    """

    def __init__(
        self,
        rules: EgressRules,
        clock: Clock,
        on_sent: Callable[[], None],
        *,
        send_by: float | None = None,
        secrets: Sequence[Secret] = (),
    ) -> None:
        self._rules = rules
        self._clock = clock
        self._on_sent = on_sent
        self._send_by = send_by
        self._secrets = secrets
        self._redactor = Redactor((secret.name, secret.value) for secret in secrets if secret.value)
        self.is_sent = False
        self.effects = 0

    def examine(self, url: str) -> Place:
        """
        Where a url leads, refused as far as that needs no DNS.

        Raises:
            Refused: `egress_denied`; `secret_not_allowed` when a secret of this call may not go there.
        """
        place = self._rules.examine(url)
        check_place(self._secrets, place)
        return place

    def examine_addresses(self, place: Place, addresses: Sequence[str]) -> None:
        """Raises Refused: `egress_denied`, one of the addresses is refused."""
        self._rules.examine_addresses(place, addresses)

    def concealed(self, said: bytes, room: int | None = None) -> bytes:
        """
        What somebody said without the secrets of this call, or at most the first `room` bytes of that.

        Whatever is told further is cut off somewhere, and half a secret would not be found any more.
        """
        try:
            if room is None:
                return self._redactor.in_bytes(said)
            whole = room + self._redactor.widest_bytes
            found = self._redactor.in_bytes if len(said) <= whole else self._redactor.in_broken
            return found(said[:whole])[:room]
        except RedactionFailed:
            return b""

    def mark_sent(self) -> None:
        """
        Something may leave from now on.

        Raises:
            TooLateError: it may not any more, and nothing did.
        """
        if self.is_sent:
            return
        if self._send_by is not None and self._clock.steady_s() >= self._send_by:
            raise TooLateError("its time to be sent had passed")
        self.is_sent = True
        self._on_sent()


current_exchange: ContextVar[Exchange] = ContextVar("current_exchange")
