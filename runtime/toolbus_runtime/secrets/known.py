"""Secrets that this process used lately: whatever a library writes into a log is searched for them."""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.executing.secrets import Secret

KEPT = 256
KEPT_CHARS = 1024 * 1024
DROPPED = '{"event":"log.dropped","reason":"it could not be searched for secrets"}'


def in_said(redactor: Callable[[], Redactor], said: bytes, *, is_broken: bool) -> str:
    """
    What a program said, without secrets; what broke off loses its end, where a part of one may stand.

    It fails closed: what cannot be searched is not told.
    """
    try:
        found = redactor().in_broken(said) if is_broken else redactor().in_bytes(said)
    except Exception:  # noqa: BLE001 - whatever went wrong, nothing unsearched is told
        return DROPPED
    return found.decode(errors="replace")


class KnownSecrets:
    """The last secrets that were used, by their values."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._chars = 0
        self._names: OrderedDict[str, str] = OrderedDict()
        self._redactor: Redactor | None = Redactor()

    def remember(self, secrets: Iterable[Secret]) -> None:
        """Lines are searched for these from now on, until so many others were used."""
        for secret in secrets:
            if secret.value in self._names:
                self._names.move_to_end(secret.value)
                continue
            self._names[secret.value] = secret.name
            self._redactor = None
            self._chars += len(secret.value)
            while len(self._names) > self._kept or self._chars > KEPT_CHARS:
                self._chars -= len(self._names.popitem(last=False)[0])

    def in_line(self, line: str) -> str:
        """The line of a log without them; one that cannot be searched is not written."""
        try:
            return self._searching().in_text(line)
        except Exception:  # noqa: BLE001 - it fails closed, and a log must not raise
            return DROPPED

    def in_said(self, said: bytes, *, is_broken: bool) -> str:
        """What a program said, without them: see `in_said`."""
        return in_said(self._searching, said, is_broken=is_broken)

    def _searching(self) -> Redactor:
        if self._redactor is None:
            self._redactor = Redactor((name, value) for value, name in self._names.items())
        return self._redactor


KNOWN = KnownSecrets()
