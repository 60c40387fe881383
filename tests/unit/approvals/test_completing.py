"""Completing on a store in memory: what is told of calls whose wait is not there, and to whom nothing is told."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, cast

import pytest
from pydantic import BaseModel

from tests.unit.approvals.making import DIGEST, EXPIRES, NOW, OPENED, TENANT
from tests.unit.dispatcher.making import ACTOR, REQUESTED
from tests.unit.runtime.things import CAUSES, Store, background, in_virtual_time, loop_clock
from toolbus_approvals.adapters.tokens import make_token
from toolbus_approvals.aggregates import AGGREGATES, CALL, WAIT
from toolbus_approvals.completing import SHOWN_WITHIN_S, Completing, answer_in
from toolbus_approvals.desk import Desk
from toolbus_contracts.calls import CallCancelled, CallSucceeded, WaitAsked
from toolbus_contracts.digests import wait_id_for_call
from toolbus_contracts.errors import Conflict, NotAllowed, NotFound, Unavailable, Unreadable
from toolbus_contracts.keys import Key
from toolbus_contracts.waits import CompleteCall
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.deciding import Command
from toolbus_runtime.feed import Feed
from toolbus_runtime.watching import CallWatch

TOKEN_KEY = b"k" * 32
KEY = Key(
    key_id="key_1",
    tenant=TENANT,
    subject="service:worker",
    roles=(),
    scopes=("work",),
    tools=("refund",),
    expires_at=None,
    secret_hash="",
    created_at=NOW,
)
CALL_ID, WAIT_ID = "call_" + "a" * 32, wait_id_for_call("call_" + "a" * 32, 1)
CALLED = REQUESTED.model_copy(update={"call_id": CALL_ID, "tool_type": "function"})
ASKED = WaitAsked(
    call_id=CALL_ID,
    wait_id=WAIT_ID,
    wait_kind="function",
    number=1,
    digest=DIGEST,
    expires_at=NOW + timedelta(days=31),
    at=NOW,
)
STANDING = OPENED.model_copy(
    update={"wait_id": WAIT_ID, "call_id": CALL_ID, "wait_kind": "function", "approval": None, "expires_at": EXPIRES}
)
CANCELLED = CallCancelled(call_id=CALL_ID, reason="", at=NOW)
SUCCEEDED = CallSucceeded(call_id=CALL_ID, attempt=0, executor="client", output=1, duration_ms=0, at=NOW)
DONE = CompleteCall(output=1)


class Tables:
    """Read tables that know of nothing."""

    async def has_unopened(self) -> bool:
        """Nobody asked for any other wait."""
        return False


class World:
    """Completing, and a store in which others write too."""

    def __init__(self) -> None:
        store, unused = Store(clock=loop_clock), cast("Any", None)
        feed = Feed(store)
        self.batcher = Batcher(store, AGGREGATES, feed.offer, clock=loop_clock)
        self.watch = CallWatch(self.batcher, feed)
        self.desk = Desk(self.batcher, cast("Any", Tables()), check_arguments=unused, payloads=store)
        states = self.batcher.states
        self.completing = Completing(self.desk, states, self.watch, token_key=TOKEN_KEY, clock=loop_clock)

    async def happen(self, category: str, subject_id: str, *events: BaseModel) -> None:
        """These events were stored."""

        def decide(*_: object) -> Sequence[BaseModel]:
            return events

        await self.batcher.submit(Command(TENANT, category, subject_id, f"cause {next(CAUSES)}", ACTOR, decide))


@asynccontextmanager
async def world(*events: BaseModel) -> AsyncIterator[World]:
    """A world in which this happened to a call."""
    made = World()
    async with background(made.batcher.run()), background(made.watch.run()):
        await made.happen(CALL, CALL_ID, CALLED, ASKED, *events)
        yield made


@pytest.mark.parametrize(
    ("events", "error", "code"),
    [((), Unavailable, "unavailable"), ((CANCELLED,), Conflict, "wait_closed")],
    ids=["not opened yet", "ended before"],
)
def test_without_a_wait_the_call_tells_why(
    events: tuple[BaseModel, ...], error: type[Unavailable | Conflict], code: str
) -> None:
    """Come back in a moment, or come no more: never that there is no such call."""

    async def story() -> None:
        async with world(*events) as made:
            with pytest.raises(error) as told:
                await made.completing.by_key(CALL_ID, DONE, key=KEY)
            assert told.value.code == code

    in_virtual_time(story())


def test_an_answer_that_was_stored_unheard_is_not_told_to_be_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store was away after it had stored it, and the call ended with it: said again, it is the one that counts."""

    async def story() -> str:
        async with world() as made:
            await made.happen(WAIT, WAIT_ID, STANDING)
            complete = made.desk.complete

            async def lost(*said: Any) -> None:
                await complete(*said)
                await made.happen(CALL, CALL_ID, SUCCEEDED)
                raise Unavailable("nobody knows whether it was stored")

            with monkeypatch.context() as patch:
                patch.setattr(made.desk, "complete", lost)
                with pytest.raises(Unavailable, match="nobody knows"):
                    await made.completing.by_key(CALL_ID, DONE, key=KEY)
            return (await made.completing.by_key(CALL_ID, DONE, key=KEY)).status

    assert in_virtual_time(story()) == "succeeded"


def test_what_was_answered_is_shown_as_it_is_when_the_dispatcher_is_away() -> None:
    """The answer is safe; five seconds are waited for what becomes of the call, and no longer."""

    async def story() -> tuple[str, str]:
        async with world() as made:
            await made.happen(WAIT, WAIT_ID, STANDING)
            began = loop_clock()
            waiting = await made.completing.by_key(CALL_ID, DONE, key=KEY)
            assert timedelta(seconds=SHOWN_WITHIN_S) <= loop_clock() - began < timedelta(seconds=SHOWN_WITHIN_S + 1)
            await made.happen(CALL, CALL_ID, SUCCEEDED)
            again = await made.completing.by_key(CALL_ID, DONE, key=KEY)
            return waiting.status, again.status

    assert in_virtual_time(story()) == ("waiting", "succeeded")


def test_a_token_completes_its_own_call_in_its_own_tenant() -> None:
    """Another call, another tenant, a wait that never was: unauthenticated, whoever asks."""
    token = make_token(TOKEN_KEY, TENANT, WAIT_ID)

    async def story() -> None:
        async with world() as made:
            await made.happen(WAIT, WAIT_ID, STANDING)
            by_token = made.completing.by_token
            for call_id, within, said in (
                ("call_" + "b" * 32, None, token),
                (CALL_ID, "other", token),
                (CALL_ID, None, make_token(TOKEN_KEY, "other", WAIT_ID)),
                (CALL_ID, None, "wt_acme"),
            ):
                with pytest.raises(NotAllowed) as refused:
                    await by_token(call_id, DONE, token=said, within=within)
                assert refused.value.code == "unauthenticated"
            await made.happen(CALL, CALL_ID, SUCCEEDED.model_copy(update={"output": 0}))
            with pytest.raises(Conflict):
                await by_token(CALL_ID, DONE, token=token, within=TENANT)

    in_virtual_time(story())


def test_a_key_completes_what_it_may_call() -> None:
    """Not what it is not limited to, and not what is not there."""

    async def story() -> None:
        async with world() as made:
            with pytest.raises(NotAllowed):
                await made.completing.by_key(CALL_ID, DONE, key=KEY.model_copy(update={"tools": ("other",)}))
            with pytest.raises(NotFound):
                await made.completing.by_key("call_" + "b" * 32, DONE, key=KEY)

    in_virtual_time(story())


@pytest.mark.parametrize("body", [{}, {"output": 1, "error": {"message": "x"}}, {"error": None}, {"result": 1}])
def test_an_answer_is_an_output_or_an_error(body: dict[str, Any]) -> None:
    """Nothing else is read as one; an output may be null."""
    with pytest.raises(Unreadable):
        answer_in(body)
    assert answer_in({"output": None}) == CompleteCall()
