"""Dead letters as they lie in the stream DEAD: one tenant's, newest first."""

from dataclasses import replace

from toolbus_contracts import subjects
from toolbus_contracts.errors import NotFound
from toolbus_dispatcher.core.dead import Letter, Origin, sequence_in
from toolbus_runtime.bus import epitaph
from toolbus_runtime.bus.backward import Backward, Read
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.lookups import Lookups, StoredMessage

STREAM = "DEAD"
ANY = "*"


class DeadLetters:
    """The letters of every tenant; each question names whose. Raises `Unavailable` when the bus is away."""

    def __init__(self, bus: Lookups) -> None:
        self._bus = bus

    async def page(self, tenant: str, reason: str | None, *, before: int | None, limit: int) -> Read[Letter]:
        """Letters without their bodies, newest first; a page of large ones may be shorter than asked for."""
        subject = subjects.dead(tenant, ANY if reason is None else reason)
        return await Backward(self._bus, STREAM, subject, _closed).read(limit, before)

    async def counts(self, tenant: str) -> dict[str, int]:
        """How many letters there are of each reason."""
        found = await self._bus.count_by_subject(STREAM, subjects.dead(tenant, ANY))
        return {subject.rpartition(".")[2]: count for subject, count in sorted(found.items())}

    async def find(self, tenant: str, letter_id: str) -> Letter:
        """
        A letter with its body.

        Raises:
            NotFound: this tenant has no such letter (any more).
        """
        sequence = sequence_in(letter_id)
        message = await self._bus.message_at(STREAM, sequence) if sequence is not None else None
        if message is None or subjects.tenant_of(message.subject) != tenant:
            raise NotFound(f"there is no dead letter {letter_id}")
        return _opened(message)

    async def remove(self, letter: Letter) -> None:
        """The letter is gone."""
        await self._bus.delete_message(STREAM, letter.sequence)


def delivery_of(letter: Letter) -> Delivery:
    """
    The delivery that died, with the identity that it had.

    Raises:
        ValueError: the letter is a note, or does not tell enough.
    """
    if letter.origin is None:
        raise ValueError(f"{letter.id} is a note, and no message")
    return epitaph.delivery_of(epitaph.Epitaph(*letter.origin), letter.data)


def _closed(message: StoredMessage) -> Letter:
    """A letter of which only the length is kept."""
    return replace(_opened(message), data=b"")


def _opened(message: StoredMessage) -> Letter:
    *_, tenant, reason = message.subject.split(".")
    told = epitaph.read(message.headers)
    return Letter(
        sequence=message.sequence,
        tenant=tenant,
        reason=reason,
        died_at=message.stored_at,
        error=message.headers.get("Toolbus-Error", ""),
        size=len(message.data),
        origin=Origin(*told) if told is not None else None,
        data=message.data,
    )
