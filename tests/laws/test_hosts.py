"""Laws of what a provider's process says: it is refused as a whole, or comes to an outcome that anybody can store."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.integrations.test_judging import MAYBE_READ, READ, REPEATABLE, WRITE
from toolbus_contracts.calls import RecordOutcome
from toolbus_contracts.errors import CODES, Unreadable
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.payloads import reference
from toolbus_contracts.subjects import MAX_MESSAGE_BYTES
from toolbus_contracts.values import parse_json
from toolbus_contracts.work import PAYLOAD_KEY
from toolbus_integrations.core.hearing import heard
from toolbus_integrations.core.judging import judge
from toolbus_integrations.host.messages import FailedMethod, Gave, Interrupted, Raised, Stopped
from toolbus_runtime.payloads import references

wild_texts = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(
    ["\x00", "\ud800", PAYLOAD_KEY]
)
long_texts = st.builds(lambda text, times: text * times, wild_texts, st.sampled_from([1, 1, 300, 20_000]))
numbers = st.floats() | st.integers() | st.sampled_from([2**53, -(2**53), 10**400, 1e308, -1])
wild_values = st.recursive(
    st.none() | st.booleans() | numbers | long_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(long_texts, inner, max_size=4),
    max_leaves=12,
)
deep_values = st.integers(1, 100).map(lambda depth: json.loads("[" * depth + "]" * depth))
outputs = st.dictionaries(long_texts | st.just(PAYLOAD_KEY), wild_values | deep_values, max_size=6)
many_fields = st.integers(1, 3000).map(lambda count: {f"field {number}": "x" * 400 for number in range(count)})
headers = st.dictionaries(long_texts, long_texts, max_size=4)
responses = st.none() | st.fixed_dictionaries(
    {"status_code": st.integers() | st.integers(100, 599), "headers": headers, "body_excerpt": long_texts}
)
codes = st.sampled_from(sorted(CODES)) | long_texts
said = st.one_of(
    st.fixed_dictionaries({"type": st.just("gave"), "id": st.integers(0, 9), "output": outputs | many_fields}),
    st.fixed_dictionaries(
        {
            "type": st.just("failed"),
            "id": st.integers(0, 9),
            "code": codes,
            "message": long_texts,
            "retryable": st.booleans(),
            "retry_after_s": st.none() | numbers,
            "response": responses,
            "effects": st.integers(-1, 3),
            "has_effect": st.none() | st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("interrupted"), "id": st.just(1), "kind": st.just("lost"), "message": long_texts}
    ),
    st.fixed_dictionaries({"type": st.just("raised"), "id": st.just(1), "message": long_texts}),
)


def told(outcome: Outcome) -> bytes:
    """What is told to the dispatcher, with references in place of what lies apart."""
    output = outcome.output
    if output is not None:
        output = {**output, **{name: reference(body) for name, body in outcome.large.items()}}
    return (
        RecordOutcome(
            call_id="call_1",
            tenant="acme",
            attempt=1,
            delivery_id="d",
            executor="e",
            result=outcome.result,
            output=output,
            error=outcome.error,
            retry_after_s=outcome.retry_after_s,
        )
        .model_dump_json()
        .encode()
    )


@given(said=said, terms=st.sampled_from([READ, WRITE, REPEATABLE, MAYBE_READ]), is_sent=st.booleans())
def test_whatever_a_host_says_comes_to_an_outcome_that_can_be_stored(said: Any, terms: Any, is_sent: bool) -> None:
    """Strict JSON that fits into a message, with a code that we know, and no reference that the provider made up."""
    try:
        ended = heard(json.dumps(said).encode())
    except Unreadable:
        return
    assert isinstance(ended, Gave | FailedMethod | Interrupted | Raised | Stopped)
    outcome = judge(ended, terms, is_sent=is_sent)
    body = told(outcome)
    assert len(body) <= MAX_MESSAGE_BYTES
    found = RecordOutcome.model_validate(parse_json(body))
    made = {reference(large)[PAYLOAD_KEY] for large in outcome.large.values()}
    assert set(references(found.output)) <= made
    if found.error is not None:
        assert found.error.code in CODES
    if found.retry_after_s is not None:
        assert 0 <= found.retry_after_s <= 2**31


@given(body=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_bytes_are_a_message_or_refused(body: bytes) -> None:
    """Nothing else is raised, whatever they are."""
    try:
        heard(body)
    except Unreadable:
        return
    assert isinstance(parse_json(body), dict)
