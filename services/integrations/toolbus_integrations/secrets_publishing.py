"""
Sealed secrets on the bus: a copy of the table, one message for each, for executors that have no database.

The table is the truth. Whoever misses one asks for the mark that is written when all are there: while that is missing
too, the stream was lost, and nobody takes a secret for one that does not exist.

A copy is written only over the message that was looked at before the row was read: of two
that write at once one sees that it was overtaken, and reads again. So an older generation never covers a newer one.
"""

import asyncio
import hashlib

import structlog

from toolbus_contracts import subjects
from toolbus_contracts.errors import BusRefused, Unavailable
from toolbus_contracts.secrets import RemovedSecret, SealedSecret, SecretsFilled, read_published
from toolbus_integrations.adapters.secrets import SecretTable
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.lookups import StoredMessage, StreamState

log = structlog.get_logger(__name__)
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_LAST = "Nats-Expected-Last-Sequence"
OVERTAKEN = 10071  # JetStream's number for: another message was the last one
TRIES = 10
LOOK_S = 60.0
RETRY_S = 1.0
ALL = subjects.secret("*", "*")


def written(secret: SealedSecret | RemovedSecret) -> bytes:
    """The message that tells of a secret."""
    return secret.model_dump_json().encode()


class Publishing:
    """Keeps the stream as the table is."""

    def __init__(self, bus: Bus, table: SecretTable) -> None:
        self._bus = bus
        self._table = table
        self._due = asyncio.Event()
        self._walked: tuple[StreamState, dict[str, bytes]] | None = None
        bus.on_reconnect(self._on_reconnect)

    async def publish(self, tenant: str, name: str) -> bool:
        """
        The stream holds what the table does of this secret; whether that took a message.

        Raises:
            Unavailable: the bus or the database is away. `run` makes up for it.
        """
        subject = subjects.secret(tenant, name)
        for _ in range(TRIES):
            there = await self._bus.last_message(subjects.SECRETS, subject)
            wanted = await self._wanted(tenant, name, there)
            if wanted is None or (there is not None and there.data == written(wanted)):
                return False
            expected = {EXPECTED: str(there.sequence if there else 0)}
            try:
                await self._bus.publish(subject, written(wanted), expected)
            except BusRefused as error:
                if error.error_number != OVERTAKEN:
                    raise
            else:
                log.info("secret.published", tenant=tenant, secret=name, generation=wanted.generation)
                return True
        raise Unavailable(f"the secret {name} is stored again and again")

    def publish_soon(self) -> None:
        """The whole is compared as soon as the bus is there."""
        self._due.set()

    async def look(self) -> int:
        """
        The stream holds what the table does, and says so; how many secrets that took.

        Raises:
            Unavailable: the bus or the database is away, or the stream was lost meanwhile.
        """
        there = dict(await self._walk())
        is_marked = there.pop(subjects.SECRETS_FILLED, None) is not None
        count = 0
        after = ("", "")
        while page := await self._table.page(after):
            for stored in page:
                known = there.pop(subjects.secret(*stored.place), None)
                if known != _digest(written(stored.secret)):
                    count += await self.publish(*stored.place)
            after = page[-1].place
        for subject in there:  # of which the table knows nothing: another database
            count += await self.publish(*subjects.secret_of(subject))
        if not is_marked:
            await self._mark()
        return count

    async def run(self) -> None:
        """Look at once, after every reconnection, when asked to, and every minute; without end."""
        while True:
            self._due.clear()
            try:
                count = await self.look()
            except (Unavailable, BusRefused) as error:
                log.info("secrets.waiting", reason=error.message)
                await asyncio.sleep(RETRY_S)
                continue
            if count:
                log.warning("secrets.republished", count=count)
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._due.wait()
            except TimeoutError:
                continue

    async def _on_reconnect(self) -> None:
        self.publish_soon()

    async def _mark(self) -> None:
        """The stream says that it is filled, if it is the one that was, and nothing came to it meanwhile."""
        state = await self._bus.stream_state(subjects.SECRETS)
        if state is None or self._walked is None or state.created != self._walked[0].created:
            raise Unavailable("the stream of secrets was lost meanwhile")
        mark = SecretsFilled().model_dump_json().encode()
        try:
            await self._bus.publish(subjects.SECRETS_FILLED, mark, {EXPECTED_LAST: str(state.last_sequence)})
        except BusRefused as error:
            if error.error_number != OVERTAKEN:
                raise
            raise Unavailable("secrets are being stored") from error

    async def _wanted(self, tenant: str, name: str, there: StoredMessage | None) -> SealedSecret | RemovedSecret | None:
        """What the stream should hold: the row, or, where there is none, that it was removed; none = nothing at all."""
        stored = await self._table.get(tenant, name)
        if stored is not None:
            return stored.secret
        if there is None:
            return None
        try:
            generation = read_published(there.data).generation
        except ValueError:
            generation = 1
        return RemovedSecret(name=name, generation=generation)

    async def _walk(self) -> dict[str, bytes]:
        """The digest of each message by its subject; read again only when the stream is not as it was."""
        state = await self._bus.stream_state(subjects.SECRETS)
        if state is None:
            raise Unavailable("the stream of secrets is not there")
        if self._walked is None or self._walked[0] != state:
            found: dict[str, bytes] = {}
            message = await self._bus.next_message(subjects.SECRETS, ALL, 1)
            while message is not None:
                found[message.subject] = _digest(message.data)
                message = await self._bus.next_message(subjects.SECRETS, ALL, message.sequence + 1)
            self._walked = (state, found)
        return self._walked[1]


def _digest(message: bytes) -> bytes:
    return hashlib.sha256(message).digest()
