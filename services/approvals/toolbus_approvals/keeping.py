"""What happens to waits without anybody's word: they open, are agreed to by grants, escalate, expire, are withdrawn."""

from collections.abc import Sequence
from datetime import datetime

from toolbus_approvals.aggregates import CALL, GRANT, WAIT
from toolbus_approvals.commanding import Rule, Streams
from toolbus_approvals.core.closing import decide_escalate, decide_expire, decide_withdraw
from toolbus_approvals.core.grants import chosen, decide_by_grant, decide_use
from toolbus_approvals.core.opening import decide_open, open_for_call, open_for_doubt
from toolbus_contracts.calls import Call
from toolbus_contracts.envelope import stream_name
from toolbus_contracts.waits import AnyGrantEvent, AnyWaitEvent, Grant, Wait, WaitOpened
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Decided, Snapshot


class Keeper:
    """Each of these may be done again after a crash: the ids of its commands follow from what caused them."""

    def __init__(self, batcher: Batcher) -> None:
        self._streams = Streams(batcher)
        self.opened_to = 0  # position of the newest wait that was opened here
        self.found_open = True  # another leader opened waits, nobody here knows at which positions

    async def open(self, tenant: str, call_id: str, wait_id: str) -> Wait | None:
        """The wait that a call stands still for is open, if it does so still; none when it is for another one."""
        return await self._opened(tenant, call_id, wait_id, is_doubt=False)

    async def open_doubt(self, tenant: str, call_id: str, wait_id: str) -> Wait | None:
        """The doubt about a call is visible, if there is one still."""
        return await self._opened(tenant, call_id, wait_id, is_doubt=True)

    async def _opened(self, tenant: str, call_id: str, wait_id: str, *, is_doubt: bool) -> Wait | None:
        make = open_for_doubt if is_doubt else open_for_call

        def rule(wait: Wait | None, snapshot: Snapshot, now: datetime) -> Sequence[AnyWaitEvent]:
            if wait is not None:
                return ()
            call: Call | None = snapshot.of(tenant, CALL, call_id)
            opened = make(call, tenant, now=now) if call is not None else None
            return decide_open(_only(opened, wait_id), wait)

        decided = await self._streams.submit(
            tenant,
            WAIT,
            wait_id,
            rule,
            causation_id=f"open:{wait_id}",
            needs=(stream_name(tenant, CALL, call_id),),
            is_first=True,
        )
        if decided.events:
            self.opened_to = max(self.opened_to, decided.events[-1].position)
        found: Wait | None = decided.state
        if found is not None and found.is_open and not decided.events:
            self.found_open = True
        return found

    async def apply_grants(self, tenant: str, wait: Wait, grant_ids: Sequence[str], now: datetime) -> None:
        """
        Those of these grants that speak for this wait have agreed to it.

        A grant is used on its own stream first. What is done again after a crash in between finds the use there. Where
        another wait had the last use of a grant, others are looked for.
        """
        streams = {grant_id: stream_name(tenant, GRANT, grant_id) for grant_id in grant_ids}
        while streams:
            found = (await self._streams.states.read_many(streams.values())).values()
            wanted = chosen([grant for grant in found if grant is not None], wait, now)
            lost = [grant.id for grant in wanted if not await self._use(tenant, grant.id, wait.id)]
            if not lost:
                return
            for grant_id in lost:
                del streams[grant_id]
            wait = await self._streams.states.read(tenant, WAIT, wait.id) or wait

    async def _use(self, tenant: str, grant_id: str, wait_id: str) -> bool:
        """Let a grant agree to the wait, if it has a use left for it."""

        def use(grant: Grant | None, _: Snapshot, now: datetime) -> Sequence[AnyGrantEvent]:
            return decide_use(grant, wait_id, now)

        def agree(wait: Wait | None, snapshot: Snapshot, now: datetime) -> Sequence[AnyWaitEvent]:
            grant: Grant | None = snapshot.of(tenant, GRANT, grant_id)
            return () if grant is None or wait is None else decide_by_grant(grant, wait, now=now)

        causation_id = f"use:{grant_id}:{wait_id}"
        used: Grant | None = (await self._streams.submit(tenant, GRANT, grant_id, use, causation_id=causation_id)).state
        if used is None or wait_id not in used.used_by:
            return False
        needs = (stream_name(tenant, GRANT, grant_id),)
        await self._submit(tenant, wait_id, agree, f"grant:{grant_id}:{wait_id}", needs=needs)
        return True

    async def pass_time(self, tenant: str, wait_id: str) -> None:
        """The wait has escalated and expired as far as it should have by now."""

        def rule(wait: Wait | None, _: Snapshot, now: datetime) -> Sequence[AnyWaitEvent]:
            return decide_expire(wait, now=now) or decide_escalate(wait, now=now)

        await self._submit(tenant, wait_id, rule)

    async def withdraw(self, tenant: str, wait_id: str, note: str) -> None:
        """The wait is closed, if it was open: its call needs it no more."""

        def rule(wait: Wait | None, _: Snapshot, now: datetime) -> Sequence[AnyWaitEvent]:
            return decide_withdraw(wait, note=note, now=now)

        await self._submit(tenant, wait_id, rule, f"withdraw:{wait_id}")

    async def _submit(
        self, tenant: str, wait_id: str, rule: Rule, causation_id: str | None = None, *, needs: tuple[str, ...] = ()
    ) -> Decided:
        return await self._streams.submit(tenant, WAIT, wait_id, rule, causation_id=causation_id, needs=needs)


def _only(opened: WaitOpened | None, wait_id: str) -> WaitOpened | None:
    """Nothing when the call stands still for another wait by now."""
    return opened if opened is not None and opened.wait_id == wait_id else None
