"""How commands about waits, grants and delegations reach their streams: one place that both people and clocks use."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from toolbus_contracts.keys import Actor
from toolbus_contracts.waits import Spoken
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.commands import new_id
from toolbus_runtime.deciding import Command, Decided, Snapshot

Rule = Callable[[Any, Snapshot, datetime], Sequence[BaseModel]]  # (state, other states, now) → events
INTERNAL_ACTOR = Actor(subject="service:approvals", via="internal")
OURS = frozenset({"webhook", "grant", "internal"})  # spoken by this service itself, in somebody's name


class Streams:
    """Commands to streams of one category each."""

    def __init__(self, batcher: Batcher) -> None:
        self.states = batcher.states
        self._batcher = batcher

    async def submit(
        self,
        tenant: str,
        category: str,
        subject_id: str,
        rule: Rule,
        *,
        actor: Actor = INTERNAL_ACTOR,
        causation_id: str | None = None,
        needs: tuple[str, ...] = (),
        is_first: bool = False,
    ) -> Decided:
        """
        Decide and store; without a causation id the command has an identity of its own.

        `needs` are the other streams that the rule looks at, `is_first` says that its own is hardly there yet: those
        of all commands of a batch are read in one query then, and not one by one when a rule asks for them.
        """

        def decide(snapshot: Snapshot, now: datetime) -> Sequence[BaseModel]:
            return rule(snapshot.of(tenant, category, subject_id), snapshot, now)

        return await self._batcher.submit(
            Command(
                tenant=tenant,
                category=category,
                subject_id=subject_id,
                causation_id=causation_id or new_id("cmd"),
                actor=actor,
                decide=decide,
                needs=needs,
                is_first=is_first,
            )
        )


def actor_of(who: Spoken) -> Actor:
    """The actor on the record for somebody who speaks."""
    return Actor(subject=who.subject, key_id=who.key_id, via="internal" if who.via in OURS else "http")
