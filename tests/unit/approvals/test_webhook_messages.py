"""The bytes of messages, and who gets them."""

import json
from datetime import UTC, datetime
from pathlib import Path

from toolbus_approvals.core.messages import (
    event_body,
    function_body,
    is_sent,
    message_for,
    message_id,
    message_to_function,
)
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.tools import FunctionWebhook
from toolbus_contracts.waits import Wait, WaitOpened, evolve_wait, wait_events
from toolbus_contracts.webhooks import Webhook

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
GOLDEN = Path(__file__).parents[2] / "contract" / "golden"
WEBHOOK = Webhook(name="crm", url="https://crm.example.com", events=("call.*",), defined_at=NOW)


def stored(kind: str = "call.succeeded.v1", data: str = '{"output":1.0,"text":"\\u00fc"}') -> StoredEvent:
    """An event of acme."""
    return StoredEvent(
        position=7,
        id="event_1",
        tenant="acme",
        category=kind.partition(".")[0],
        stream="acme/call/call_1",
        version=1,
        kind=kind,
        data=data,
        actor="{}",
        correlation_id="exec_1",
        causation_id="cmd_1",
        ordinal=0,
        traceparent=None,
        recorded_at=NOW,
        previous_hash="",
        hash="",
    )


def opened(**changes: object) -> WaitOpened:
    """A function is waited for, with a webhook."""
    event = wait_events.validate_json((GOLDEN / "wait.opened.v1.json").read_bytes())
    assert isinstance(event, WaitOpened)
    webhook = FunctionWebhook(url="https://client.example.com:8443/tools/a?b=/c", secret="secret://mine")
    return event.model_copy(update={"wait_kind": "function", "webhook": webhook, **changes})


def waiting(**changes: object) -> Wait:
    """The wait that this opens."""
    wait = evolve_wait(None, opened(**changes))
    assert wait is not None
    return wait


def test_an_event_is_told_word_for_word() -> None:
    """What was stored is what is sent; around it type, time, id and position."""
    body = event_body(stored())
    assert b'"data":{"output":1.0,"text":"\\u00fc"}' in body
    told = json.loads(body)
    assert told == {
        "type": "call.succeeded",
        "timestamp": "2026-01-02T03:04:05.000006Z",
        "id": "event_1",
        "position": 7,
        "data": {"output": 1.0, "text": "ü"},
    }


def test_the_id_of_a_message_follows_from_webhook_and_event() -> None:
    """Another webhook, tenant or event is another message."""
    ids = {message_id(*of) for of in (("a", "b", "c"), ("a", "b", "d"), ("a", "e", "c"), ("f", "b", "c"))}
    assert len(ids) == 4
    assert message_id("a", "b", "c") in ids


def test_a_webhook_is_told_of_what_it_wants_to_know() -> None:
    """And of nothing else."""
    told = message_for(stored(), WEBHOOK)
    assert told is not None
    assert (told.id, told.webhook, told.lane) == (message_id("acme", "crm", "event_1"), "crm", "acme/crm")
    assert (told.type, told.position, told.url, told.at) == ("call.succeeded", 7, None, NOW)
    assert message_for(stored("wait.opened.v1"), WEBHOOK) is None


def test_keys_are_nobody_elses_business() -> None:
    """Not even to a webhook that wants everything."""
    assert is_sent(stored())
    assert not is_sent(stored("key.created.v1"))


def test_a_function_is_asked_at_its_own_url() -> None:
    """With the secrets of the webhook that it names; what goes to one origin is one lane."""
    asked = message_to_function(opened(wait_id="wait_1"), stored("wait.opened.v1"))
    assert asked is not None
    assert (asked.id, asked.webhook, asked.type) == ("wait_1", "mine", "function.call")
    assert asked.url == "https://client.example.com:8443/tools/a?b=/c"
    assert asked.lane == "acme/function.call/https://client.example.com:8443"


def test_nobody_is_asked_without_a_webhook_or_by_another_kind_of_wait() -> None:
    """Leases and people answer those."""
    assert message_to_function(opened(webhook=None), stored("wait.opened.v1")) is None
    assert message_to_function(opened(wait_kind="approval"), stored("wait.opened.v1")) is None


def test_a_function_learns_what_to_do_and_how_to_answer() -> None:
    """Arguments, token, and until when."""
    wait = waiting(wait_id="wait_1", call_id="call_1", tool="draft", at=NOW, expires_at=NOW)
    told = json.loads(function_body(wait, arguments={"to": "Ana"}, token="wt_1"))
    time = "2026-01-02T03:04:05.000006Z"
    assert told == {
        "type": "function.call",
        "timestamp": time,
        "data": {
            "call_id": "call_1",
            "wait_id": "wait_1",
            "tool": "draft",
            "arguments": {"to": "Ana"},
            "token": "wt_1",
            "expires_at": time,
        },
    }


def test_a_wait_without_an_end_tells_none() -> None:
    """No made-up time."""
    told = json.loads(function_body(waiting(expires_at=None), arguments=None, token="wt_1"))
    assert told["data"]["expires_at"] is None
