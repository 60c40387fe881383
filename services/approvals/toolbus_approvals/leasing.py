"""Leasing: workers take waiting function calls, keep them while they work, and give back what they cannot do."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from toolbus_approvals.adapters.leases import Lease, Leases
from toolbus_approvals.adapters.tokens import make_token
from toolbus_approvals.aggregates import WAIT
from toolbus_approvals.core.late import is_over, must_be, over
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import Conflict, NotAllowed, NotFound
from toolbus_contracts.keys import Key
from toolbus_contracts.waits import HeartbeatWait, LeasedCall, LeaseView, LeaseWaits, ReleaseWait, Wait
from toolbus_runtime.commands import new_id
from toolbus_runtime.payloads import PayloadStore, whole
from toolbus_runtime.states import States

MAX_LOOKS = 5  # how often more is looked for when what was leased is over already, which the table has not heard yet
MAX_WHOLE_BYTES = 8 * 1024 * 1024  # of large arguments in one answer; what is beyond stays a reference


class Leasing:
    """
    What a key may do as a worker. The table hands out; the stream of each wait says whether it is still open.

    Raises, everywhere: `Unavailable` when the database is away.
    """

    def __init__(
        self,
        leases: Leases,
        states: States,
        payloads: PayloadStore,
        *,
        token_key: bytes,
        clock: Callable[[], datetime],
    ) -> None:
        self._leases = leases
        self._states = states
        self._payloads = payloads
        self._token_key = token_key
        self._clock = clock

    async def lease(self, command: LeaseWaits, *, key: Key) -> list[LeasedCall]:
        """
        Up to `max` open calls of these functions, oldest first, that nobody else gets for `visibility_s`.

        Raises:
            NotAllowed: the key is limited to other tools.
        """
        for tool in command.tools:
            _must_work_on(key, tool)
        lease_id, now = new_id("lease"), self._clock()
        until = now + timedelta(seconds=command.visibility_s)
        found: list[tuple[Lease, Wait]] = []
        for _ in range(MAX_LOOKS):
            limit = command.max - len(found)
            taken = await self._leases.take(
                key.tenant, command.tools, lease_id=lease_id, now=now, until=until, limit=limit
            )
            found += await self._open(key.tenant, taken, now)
            if not taken or len(found) == command.max:
                break
        return await self._shown(key.tenant, found)

    async def heartbeat(self, wait_id: str, command: HeartbeatWait, *, key: Key) -> LeaseView:
        """
        Keep a call for `visibility_s` from now.

        Raises:
            NotFound: there is no such wait.
            NotAllowed: the key is limited to other tools.
            Conflict: `lease_lost`, another worker has it; `wait_closed`, nobody waits for it any more.
        """
        now = self._clock()
        until = now + timedelta(seconds=command.visibility_s)
        wait = await self._waiting(wait_id, key)
        if is_over(wait, now):
            raise over(wait, now)
        await self._extend(wait_id, command.lease_id, key, until)
        return LeaseView(wait_id=wait_id, lease_id=command.lease_id, leased_until=until)

    async def release(self, wait_id: str, command: ReleaseWait, *, key: Key) -> None:
        """
        Give a call back; doing so twice is doing so once.

        Raises:
            NotFound: there is no such wait.
            NotAllowed: the key is limited to other tools.
            Conflict: `lease_lost`, another worker has it.
        """
        await self._waiting(wait_id, key)
        await self._extend(wait_id, command.lease_id, key, self._clock())

    async def _open(self, tenant: str, taken: Iterable[Lease], now: datetime) -> list[tuple[Lease, Wait]]:
        """Those of the leased calls that really still wait, by their streams."""
        streams = {lease: stream_name(tenant, WAIT, lease.wait_id) for lease in taken}
        states = await self._states.read_many(streams.values()) if streams else {}
        waits = ((lease, states[stream]) for lease, stream in streams.items())
        return [(lease, wait) for lease, wait in waits if wait is not None and not is_over(wait, now)]

    async def _shown(self, tenant: str, found: list[tuple[Lease, Wait]]) -> list[LeasedCall]:
        room = MAX_WHOLE_BYTES
        shown: list[LeasedCall] = []
        for lease, wait in found:
            arguments, size = await whole(self._payloads, tenant, wait.arguments, room)
            room -= size
            shown.append(
                LeasedCall(
                    wait_id=wait.id,
                    call_id=wait.call_id,
                    lease_id=lease.lease_id,
                    tool=wait.tool,
                    arguments=arguments,
                    token=make_token(self._token_key, tenant, wait.id),
                    leased_until=lease.leased_until,
                    expires_at=wait.expires_at or lease.leased_until,
                    attempt=lease.attempts,
                )
            )
        return shown

    async def _waiting(self, wait_id: str, key: Key) -> Wait:
        wait: Wait | None = await self._states.read(key.tenant, WAIT, wait_id)
        if wait is None:
            raise NotFound(f"there is no wait {wait_id}")
        must_be(wait, "function")
        _must_work_on(key, wait.tool)
        return wait

    async def _extend(self, wait_id: str, lease_id: str, key: Key, until: datetime) -> None:
        if not await self._leases.extend(key.tenant, wait_id, lease_id, until):
            raise Conflict("lease_lost", f"the lease of {wait_id} has run out, and another worker may have it")


def _must_work_on(key: Key, tool: str) -> None:
    if not key.may_call(tool):
        raise NotAllowed(f"this key may not work on {tool}")
