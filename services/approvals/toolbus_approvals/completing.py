"""Completing: a client says what its function came to, and hears what that made of its call."""

from collections.abc import Callable
from datetime import datetime

from toolbus_approvals.adapters.tokens import read_token
from toolbus_approvals.aggregates import CALL, WAIT
from toolbus_approvals.desk import Desk
from toolbus_contracts.calls import Call
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.errors import Conflict, Fault, NotAllowed, NotFound, Unavailable, Unreadable
from toolbus_contracts.keys import Key
from toolbus_contracts.values import Json
from toolbus_contracts.waits import CompleteCall, Spoken, Wait
from toolbus_runtime.commands import parsed
from toolbus_runtime.states import States
from toolbus_runtime.watching import CallWatch

SHOWN_WITHIN_S = 5.0  # the answer is safe before that: this long it is waited for what the dispatcher makes of it


def answer_in(body: dict[str, Json]) -> CompleteCall:
    """
    What a function came to, as a client says it: an output, which may be null, or an error.

    Raises:
        Unreadable: neither, both, or something else besides.
    """
    if body.keys() not in ({"output"}, {"error"}) or body.get("error", ...) is None:
        message = "give output or error, and nothing else"
        raise Unreadable("invalid_request", message, (Fault("", message),))
    return parsed(CompleteCall, body)


class Completing:
    """
    Takes answers from whoever holds a key, or the call's own token.

    Raises, everywhere: `Conflict` with `answer_taken`, `wait_closed` or `wrong_wait_kind`; `Unavailable`.
    """

    def __init__(
        self, desk: Desk, states: States, watch: CallWatch, *, token_key: bytes, clock: Callable[[], datetime]
    ) -> None:
        self._desk = desk
        self._states = states
        self._watch = watch
        self._token_key = token_key
        self._clock = clock

    async def by_key(self, call_id: str, command: CompleteCall, *, key: Key) -> Call:
        """
        The call after the answer was taken, or as it is after five seconds.

        Raises:
            NotFound: this tenant has no such call.
            NotAllowed: the key is limited to other tools.
        """
        call: Call | None = await self._states.read(key.tenant, CALL, call_id)
        if call is None:
            raise NotFound(f"there is no call {call_id}")
        if not key.may_call(call.tool):
            raise NotAllowed(f"this key may not work on {call.tool}")
        who = Spoken(subject=key.subject, roles=key.roles, key_id=key.key_id, via="http", at=self._clock())
        return await self._complete(key.tenant, call_id, command, who)

    async def by_token(
        self, call_id: str, command: CompleteCall, *, token: str, within: str | None = None
    ) -> tuple[str, Call]:
        """
        As `by_key`, for whoever was given this call and no key; the tenant comes with it, and may only be `within`.

        Raises:
            NotAllowed: `unauthenticated`, it is no token, or that of another call.
        """
        tenant, wait_id = read_token(self._token_key, token)
        wait: Wait | None = await self._states.read(tenant, WAIT, wait_id)
        if wait is None or wait.call_id != call_id or within not in {None, tenant}:
            raise NotAllowed("this token is that of another call", "unauthenticated")
        who = Spoken(subject=f"token:{wait_id}", via="http", at=self._clock())
        return tenant, await self._complete(tenant, call_id, command, who)

    async def _complete(self, tenant: str, call_id: str, command: CompleteCall, who: Spoken) -> Call:
        try:
            await self._desk.complete(tenant, call_id, command, who)
        except (NotFound, Unavailable):
            await self._tell_why(tenant, call_id)
            raise
        call = await self._watch.until_ended(tenant, call_id, SHOWN_WITHIN_S)
        if call is None:
            raise NotFound(f"there is no call {call_id}")
        return call

    async def _tell_why(self, tenant: str, call_id: str) -> None:
        """
        Why a call has no wait that could be answered, when it is there, and has none.

        Where there is one, the answer may have been stored by now, and the call may have ended with it: then nothing
        is known, and the same answer again will tell.

        Raises:
            Conflict: `wait_closed`, it ended before its wait was opened; whoever answers comes too late all the same.
            Unavailable: its wait is about to be opened.
        """
        call: Call | None = await self._states.read(tenant, CALL, call_id)
        if (
            call is not None
            and await self._states.read(tenant, WAIT, wait_id_for_call(call_id, call.waits)) is not None
        ):
            return
        if call is not None and call.is_terminal:
            raise Conflict("wait_closed", f"call {call_id} is {call.status}; it needs no answer any more")
        if call is not None and call.wait is not None:
            raise Unavailable(f"the wait of call {call_id} is about to be opened")
