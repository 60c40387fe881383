"""The poster: makes one attempt at one delivery, from the log and the webhook as they are now."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from toolbus_approvals.adapters.deliveries import Delivery
from toolbus_approvals.adapters.tokens import make_token
from toolbus_approvals.adapters.webhook_client import WebhookClient
from toolbus_approvals.aggregates import WAIT
from toolbus_approvals.core.answers import Answer, Judged, judge_event, judge_function
from toolbus_approvals.core.messages import FUNCTION_CALL, event_body, function_body
from toolbus_approvals.core.signing import signed_headers
from toolbus_approvals.webhooks import Webhooks
from toolbus_contracts.errors import NotFound, Refused
from toolbus_contracts.values import Json, parse_json
from toolbus_contracts.waits import CompleteCall, Spoken, Wait
from toolbus_contracts.work import PAYLOAD_KEY
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.payloads import is_reference
from toolbus_runtime.store.port import EventStore

Complete = Callable[[str, str, CompleteCall, Spoken], Awaitable[object]]


class Posted(NamedTuple):
    """What came of an attempt; nothing is judged when the message is not wanted any more."""

    judged: Judged | None
    answer: Answer | None = None
    note: str | None = None


class Poster:
    """Makes messages, signs them, sends them, and takes the answers of functions."""

    def __init__(
        self,
        *,
        store: EventStore,
        batcher: Batcher,
        webhooks: Webhooks,
        client: WebhookClient,
        complete: Complete,
        token_key: bytes,
        calendar: Calendar,
    ) -> None:
        self._store = store
        self._batcher = batcher
        self._webhooks = webhooks
        self._client = client
        self._complete = complete
        self._token_key = token_key
        self._now = calendar.now

    async def post(self, delivery: Delivery) -> Posted:
        """
        One attempt; never the same secret for long: what signs is read anew each time.

        Raises:
            Unavailable: store, database or vault are away.
        """
        if delivery.type == FUNCTION_CALL:
            return await self._ask_function(delivery)
        try:
            webhook, secrets = await self._webhooks.signing(delivery.tenant, delivery.webhook, self._now())
        except NotFound:
            return Posted(None, note="the webhook was removed")
        found = await self._store.read(after=delivery.position - 1, limit=1)
        if not found:
            return Posted(None, note="the event is not in the log")
        answer = await self._send(delivery, webhook.url, event_body(found[0]), secrets)
        return Posted(judge_event(answer), answer)

    async def _ask_function(self, delivery: Delivery) -> Posted:
        wait: Wait | None = await self._batcher.states.read(delivery.tenant, WAIT, delivery.id)
        if wait is None or not wait.is_open or delivery.url is None:
            return Posted(None, note="the call needs no answer any more")
        try:
            _, secrets = await self._webhooks.signing(delivery.tenant, delivery.webhook, self._now())
        except NotFound as error:  # it may be put yet
            return Posted(Judged(has_arrived=False, error=error.message))
        token = make_token(self._token_key, delivery.tenant, wait.id)
        arguments = await self._whole(delivery.tenant, wait.arguments)
        body = function_body(wait, arguments=arguments, token=token)
        answer = await self._send(delivery, delivery.url, body, secrets)
        judged = judge_function(answer)
        note = await self._take(delivery, wait, judged.answer) if judged.answer is not None else None
        return Posted(judged, answer, note)

    async def _take(self, delivery: Delivery, wait: Wait, command: CompleteCall) -> str | None:
        """Take what the function answered at once; a second answer is on the record, and has no effect."""
        who = Spoken(subject=f"service:webhook.{delivery.webhook}", via="webhook", at=self._now())
        try:
            await self._complete(delivery.tenant, wait.call_id, command, who)
        except Refused as error:
            return error.message
        return None

    async def _send(self, delivery: Delivery, url: str, body: bytes, secrets: list[str]) -> Answer:
        now = self._now()
        headers = signed_headers(delivery.id, body, secrets, now=now)
        is_read = delivery.type == FUNCTION_CALL
        return await self._client.post(url, headers, body, is_read=is_read, now=now)

    async def _whole(self, tenant: str, arguments: Json) -> Json:
        """The arguments themselves: references stand for all of them, or for one."""
        if is_reference(arguments):
            body = await self._store.get_payload(tenant, arguments[PAYLOAD_KEY])
            return arguments if body is None else parse_json(body)
        if isinstance(arguments, dict) and any(map(is_reference, arguments.values())):
            return {name: await self._whole(tenant, part) for name, part in arguments.items()}
        return arguments
