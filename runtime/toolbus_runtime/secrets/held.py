"""The secrets that one attempt holds: the only way to have their values, so that none is missed when it ends."""

import asyncio
import traceback
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from toolbus_contracts.errors import Fault, ToolbusError
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.redacting import DROPPED, redacted
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.executing.secrets import Secret, generations_of
from toolbus_contracts.work import WorkItem
from toolbus_runtime.secrets.resolver import Resolver

LARGE_BYTES = 64 * 1024  # searching more than this in the loop could hold up every other call for 50 ms


class ConcealedError(Exception):
    """A fault of ours in an attempt that held secrets: what it said, without them."""


class HeldSecrets:
    """
    What was resolved for one attempt at the work item.

    As a context it lets no exception pass that says a secret: its text is cleaned, and what led to it is cut off.
    """

    __slots__ = ("_item", "_resolver", "_secrets", "redactor")

    def __init__(self, resolver: Resolver, item: WorkItem) -> None:
        self._resolver = resolver
        self._item = item
        self._secrets: tuple[Secret, ...] = ()
        self.redactor = _NOTHING

    @property
    def generations(self) -> dict[str, int]:
        """The generation of each secret that is held, as the digest of the effect covers it."""
        return generations_of(self._secrets)

    async def resolve(self, names: Iterable[str]) -> dict[str, Secret]:
        """
        The secrets of these names; whatever leaves this attempt is searched for them from now on.

        Raises:
            Refused: `secret_unavailable` or `secret_not_allowed`.
            Unavailable: they cannot be looked up now.
        """
        definition = self._item.definition
        server = None if definition.mcp is None else definition.mcp.server
        found = await self._resolver.resolve(self._item.tenant, names, tool=definition.name, server=server)
        held = {secret.name: secret for secret in self._secrets} | found
        self._secrets = tuple(held.values())
        self.redactor = Redactor((secret.name, secret.value) for secret in self._secrets)
        return found

    async def redacted(self, outcome: Outcome) -> Outcome:
        """The outcome without the secrets; it is dropped where it cannot be searched."""
        if not self.redactor:
            return outcome
        if sum(map(len, outcome.large.values())) > LARGE_BYTES:
            return await asyncio.to_thread(redacted, outcome, self.redactor, self._item.terms)
        return redacted(outcome, self.redactor, self._item.terms)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.redactor or not isinstance(error, Exception):
            return
        if isinstance(error, ToolbusError):
            error.message = self._said(error.message)
            error.args = (error.message,)
            error.faults = tuple(Fault(self._said(path), self._said(message)) for path, message in error.faults)
            error.__cause__ = None
            error.__suppress_context__ = True
            return
        lines = "".join(traceback.format_exception(error))
        raise ConcealedError(self._said(f"{type(error).__name__}: {error}\n{lines}")) from None

    def _said(self, text: str) -> str:
        try:
            return self.redactor.in_text(text)
        except Exception:  # noqa: BLE001 - it fails closed
            return f"dropped: {DROPPED}"


_NOTHING = Redactor()
