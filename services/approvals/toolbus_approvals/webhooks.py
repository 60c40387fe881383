"""Webhooks: what people ask of them, and what the sender has to know of them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

import structlog
from pydantic import BaseModel

from toolbus_approvals.adapters.signing_secrets import SigningSecrets, new_secret
from toolbus_approvals.aggregates import WEBHOOK
from toolbus_approvals.core.webhooks import (
    check_patterns,
    decide_disable,
    decide_enable,
    decide_put,
    decide_remove,
    decide_rotate,
    existing,
)
from toolbus_contracts.keys import Actor
from toolbus_contracts.webhooks import (
    DisableReason,
    PutWebhook,
    Webhook,
    evolve_webhook,
    webhook_events,
)
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.commands import new_id
from toolbus_runtime.deciding import Command, Snapshot
from toolbus_runtime.store.port import EventStore

log = structlog.get_logger(__name__)
READ_AT_ONCE = 1000
SENDER = Actor(subject="service:approvals", via="internal")
Examine = Callable[[str], object]  # refuses a url that nothing may be sent to
Rule = Callable[[Webhook | None, datetime], Sequence[BaseModel]]


class Put(NamedTuple):
    """A webhook as it is now; `secret` when one was made here; whether it was not there before."""

    webhook: Webhook
    secret: str | None
    is_new: bool


class Webhooks:
    """Commands about webhooks, and reads that fold their streams."""

    def __init__(self, batcher: Batcher, store: EventStore, secrets: SigningSecrets, *, examine: Examine) -> None:
        self._batcher = batcher
        self._store = store
        self._secrets = secrets
        self._examine = examine

    async def put(self, tenant: str, name: str, command: PutWebhook, actor: Actor) -> Put:
        """
        Define a webhook, anew where it is there; its secret is made when it has none and none is given.

        Raises: Refused, Conflict, Unavailable.
        """
        check_patterns(command.events)  # before a secret is put away for nothing
        self._examine(command.url)
        known = await self._known(tenant, name)
        made = new_secret() if known is None and command.secret is None else None
        wanted = command.secret or made
        if wanted is not None and known is not None:
            signing = known.signing(self._batcher.clock())
            if await self._secrets.is_current(tenant, name, signing, wanted):
                wanted = None
        secret = wanted and await self._secrets.put(tenant, name, wanted, self._batcher.clock())

        def rule(webhook: Webhook | None, now: datetime) -> Sequence[BaseModel]:
            return decide_put(name, command, webhook, secret=secret or None, now=now)

        return Put(await self._submit(tenant, name, actor, rule), made, known is None)

    async def rotate(self, tenant: str, name: str, secret: str | None, actor: Actor) -> Put:
        """Sign with another secret, a made one unless given. Raises: NotFound, Unavailable."""
        await self.get(tenant, name)
        made = None if secret else new_secret()
        new = await self._secrets.put(tenant, name, secret or made or "", self._batcher.clock())

        def rule(webhook: Webhook | None, now: datetime) -> Sequence[BaseModel]:
            return decide_rotate(name, webhook, secret=new, now=now)

        return Put(await self._submit(tenant, name, actor, rule), made, is_new=False)

    async def enable(self, tenant: str, name: str, actor: Actor) -> Webhook:
        """Send again. Raises: NotFound."""
        return await self._submit(tenant, name, actor, lambda webhook, now: decide_enable(name, webhook, now=now))

    async def remove(self, tenant: str, name: str, actor: Actor) -> Webhook:
        """Send nothing there any more. Raises: NotFound."""
        return await self._submit(tenant, name, actor, lambda webhook, now: decide_remove(name, webhook, now=now))

    async def disable(self, tenant: str, name: str, reason: DisableReason, *, note: str, cause: str) -> None:
        """Send nothing there until somebody enables it; `cause` identifies what led to it, once."""

        def rule(webhook: Webhook | None, now: datetime) -> Sequence[BaseModel]:
            return decide_disable(webhook, reason=reason, note=note, now=now)

        await self._submit(tenant, name, SENDER, rule, cause=cause)
        log.warning("webhook.disabled", tenant=tenant, webhook=name, reason=reason)

    async def get(self, tenant: str, name: str) -> Webhook:
        """A webhook as it is now. Raises: NotFound."""
        webhook: Webhook | None = await self._batcher.states.read(tenant, WEBHOOK, name)
        return existing(name, webhook)

    async def all(self, tenant: str) -> list[Webhook]:
        """All webhooks of a tenant, by name."""
        found = (await webhooks_until(self._store, None, tenant=tenant)).values()
        return sorted((webhook for webhook in found if webhook.is_there), key=lambda webhook: webhook.name)

    async def signing(self, tenant: str, name: str, now: datetime) -> tuple[Webhook, list[str]]:
        """A webhook with the secrets that sign for it now. Raises: NotFound, Unavailable."""
        webhook = await self.get(tenant, name)
        return webhook, await self._secrets.open(tenant, name, webhook.signing(now))

    async def _known(self, tenant: str, name: str) -> Webhook | None:
        webhook: Webhook | None = await self._batcher.states.read(tenant, WEBHOOK, name)
        return webhook if webhook is not None and webhook.is_there else None

    async def _submit(self, tenant: str, name: str, actor: Actor, rule: Rule, *, cause: str = "") -> Webhook:
        def decide(snapshot: Snapshot, now: datetime) -> Sequence[BaseModel]:
            return rule(snapshot.of(tenant, WEBHOOK, name), now)

        decided = await self._batcher.submit(
            Command(
                tenant=tenant,
                category=WEBHOOK,
                subject_id=name,
                causation_id=cause or new_id("cmd"),
                actor=actor,
                decide=decide,
            )
        )
        webhook: Webhook = decided.state
        return webhook


async def webhooks_until(
    store: EventStore, position: int | None, *, tenant: str | None = None
) -> dict[tuple[str, str], Webhook]:
    """The webhooks of all tenants, or of one, as they were at a position: there are few, and they change seldom."""
    found: dict[tuple[str, str], Webhook] = {}
    after = 0
    while events := await store.read(after=after, limit=READ_AT_ONCE, tenant=tenant, categories=(WEBHOOK,)):
        for event in events:
            if position is not None and event.position > position:
                return found
            of = (event.tenant, event.subject_id)
            webhook = evolve_webhook(found.get(of), webhook_events.validate_json(event.data))
            if webhook is not None:
                found[of] = webhook
        after = events[-1].position
    return found
