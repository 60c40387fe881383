"""Sealed secrets as they lie in the stream SECRETS."""

from typing import Protocol

from toolbus_contracts import subjects
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.executing.secrets import UNNUMBERED
from toolbus_contracts.secrets import RemovedSecret, SealedSecret, read_published
from toolbus_runtime.bus.lookups import StoredMessage
from toolbus_runtime.bus.replies import STATUS, Reply

READ_TIMEOUT_S = 5.0


class SecretsBus(Protocol):
    """What reading secrets wants of the bus."""

    async def request(self, subject: str, data: bytes, *, timeout_s: float) -> Reply:
        """The answer of whoever serves the subject."""
        ...

    async def last_message(self, stream: str, subject: str) -> StoredMessage | None:
        """The last message of the stream on the subject; None when there is none."""
        ...


async def published_secret(bus: SecretsBus, tenant: str, name: str) -> SealedSecret | None:
    """
    The newest generation of a secret, sealed; None when it was never stored, or was removed.

    Raises:
        Unavailable: the bus is away, holds something else there, or was emptied and does not hold all secrets yet.
    """
    subject = subjects.secret(tenant, name)
    reply = await bus.request(f"$JS.API.DIRECT.GET.{subjects.SECRETS}.{subject}", b"", timeout_s=READ_TIMEOUT_S)
    # A replica that lags answers a direct read with "not found": the leader knows.
    data = reply.data if STATUS not in reply.headers else await _from_leader(bus, subject)
    if data is None:
        return None
    try:
        found = read_published(data)
    except ValueError as error:
        raise Unavailable(f"what the bus holds for secret {name} cannot be read") from error
    if found.name != name:
        raise Unavailable(f"what the bus holds for secret {name} is another one")
    return None if isinstance(found, RemovedSecret) else found


async def _from_leader(bus: SecretsBus, subject: str) -> bytes | None:
    """
    What the leader holds; none when there is nothing, and nothing is missing either.

    The mark is read first: what is not there behind it is nowhere. Raises: Unavailable.
    """
    if await bus.last_message(subjects.SECRETS, subjects.SECRETS_FILLED) is None:
        raise Unavailable("the bus does not hold the secrets yet; the integrations service lays them there")
    stored = await bus.last_message(subjects.SECRETS, subject)
    return None if stored is None else stored.data


async def published_generation(bus: SecretsBus, tenant: str, name: str) -> int:
    """
    The generation that a call would use now; 0 when the secret is not among those stored.

    Raises:
        Unavailable: the bus is away.
    """
    found = await published_secret(bus, tenant, name)
    return UNNUMBERED if found is None else found.generation
