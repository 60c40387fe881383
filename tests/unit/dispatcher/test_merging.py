"""What a call runs with: what is stored, over what is defined, over what it says."""

from typing import Any

import pytest

from tests.unit.dispatcher.making import LATER, NOW, define, start, submission, submit, tool
from toolbus_contracts.calls import Approved, Call, CallRequested, call_digest, evolve_call
from toolbus_contracts.errors import Conflict
from toolbus_contracts.stored import NOTHING, Stored, StoredValues
from toolbus_contracts.tools import Surface, Tool, ToolDefinition, ToolVersion, evolve_tool
from toolbus_dispatcher.core.approved import ByNow
from toolbus_dispatcher.core.calls import decide_start
from toolbus_dispatcher.core.merging import Wanted, merged_arguments
from toolbus_dispatcher.core.resources import decide_define
from toolbus_dispatcher.core.submit import Submission, decide_submit

AGREED = {"approvers": ["role:finance"]}
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}
REFERENCE = {"$payload": "sha256:" + "0" * 64, "bytes": 70_000, "preview": ""}


def search(**changes: Any) -> Tool:
    """A tool of a provider that brings an argument along."""
    section = {"provider": "wikipedia", "setup": {"key": "secret://wiki_key"}, "arguments": {"limit": 3}}
    definition = ToolDefinition.model_validate({"name": "search", "integration": section, **changes})
    surface = Surface.model_validate(
        {"arguments": {**SCHEMA, "required": ["query"]}, "setup": {"properties": {"key": {}, "lang": {}}}}
    )
    (event,) = decide_define(definition, Tool(), scope="tenant", if_match=None, now=NOW, surface=surface)
    return evolve_tool(Tool(), event)


def stored_at(place: str, setup: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """Finds these values at this place, and nothing elsewhere."""
    values = StoredValues(setup=setup or {}, arguments=arguments)
    found = Stored(level="tenant", level_id="all", tool="t", values=values)
    return {place: found}.get


def requested(sent: Submission, found: Tool, stored: Any = lambda _: None) -> CallRequested:
    """The request as it is recorded."""
    first, *_ = submit(sent, find_tool=lambda *_: found, find_stored=stored)
    assert isinstance(first, CallRequested), first
    return first


def test_a_tool_of_a_provider_runs_with_all_that_there_is() -> None:
    """Stored setup rides along apart; a key that is stored wins over the definition, and that over the call."""
    sent = submission(tool="search", arguments={"query": "x", "limit": 9}, context={"user": "ana"})
    found = requested(sent, search(), stored_at("user:search:ana", {"lang": "de"}, limit=5))
    assert (found.arguments, found.setup) == ({"query": "x", "limit": 5}, {"lang": "de"})
    assert found.context is not None
    assert (found.context.user, found.stored_digest, found.secrets) == ("ana", None, {})
    assert requested(sent, search()).arguments == {"query": "x", "limit": 3}


def test_what_is_required_may_be_stored() -> None:
    """It is checked after all was put together."""
    sent = submission(tool="search", arguments={})
    assert requested(sent, search(), stored_at("tenant:search:all", query="x")).arguments == {"query": "x", "limit": 3}
    (refused,) = submit(sent, find_tool=lambda *_: search())
    assert refused.kind == "call.refused.v1"


def test_a_definition_that_a_call_brings_gets_nothing_stored() -> None:
    """Its name is not the name of a tool."""
    inline = define().model_dump(mode="json", by_alias=True, exclude_none=True)
    found = requested(submission(tool=inline), Tool(), stored_at("tenant:refund:all", {"headers": {"x": "y"}}))
    assert found.setup == {}


@pytest.mark.parametrize(
    ("section", "arguments", "merged"),
    [
        ({}, {"charge": "a"}, {"charge": "a", "amount": 7}),
        ({}, {"charge": "a", "amount": 1}, {"charge": "a", "amount": 7}),
        ({}, {"json": {"charge": "a"}}, {"json": {"charge": "a", "amount": 7}}),
        ({"method": "GET"}, {"params": {"charge": "a"}}, {"params": {"charge": "a", "amount": 7}}),
        ({"method": "GET"}, {"json": {"charge": "a"}}, {"json": {"charge": "a"}, "params": {"amount": 7}}),
    ],
)
def test_arguments_go_where_the_call_has_its_own(
    section: dict[str, Any], arguments: dict[str, Any], merged: dict[str, Any]
) -> None:
    """As properties, or in the part of the request that the method uses."""
    found = requested(
        submission(arguments=arguments), tool(define(**section)), stored_at("tenant:refund:all", amount=7)
    )
    assert found.arguments == merged


def test_nothing_is_merged_where_there_is_nothing() -> None:
    """The arguments are the very same."""
    version = tool(define()).latest
    assert isinstance(version, ToolVersion)
    arguments = {"charge": "ch_1"}
    assert merged_arguments(version, arguments, NOTHING) is arguments


def test_what_rests_as_a_payload_is_merged_before() -> None:
    """Nothing can be put into a reference: the edge is asked to keep the whole."""
    stored = stored_at("tenant:refund:all", amount=7)
    sent = submission(stored=REFERENCE)
    found = decide_submit(sent, None, find_tool=lambda *_: tool(define()), find_stored=stored, execution=None, now=NOW)
    whole = {"charge": "ch_1", "amount": 7}
    assert found == Wanted(arguments=whole)
    kept = sent._replace(rests=(whole, {**REFERENCE, "bytes": 1}))
    assert requested(kept, tool(define()), stored).arguments == {**REFERENCE, "bytes": 1}
    stale = sent._replace(rests=({"charge": "ch_1"}, REFERENCE))
    again = decide_submit(stale, None, find_tool=lambda *_: tool(define()), find_stored=stored, execution=None, now=NOW)
    assert again == Wanted(arguments=whole)


def approved(found: Tool, stored: Any, **generations: int) -> Call:
    """A call that lies with the executors, approved as it was."""
    sent = submission(tool="search", arguments={"query": "x"})._replace(generations=generations)
    call = evolve_call(None, requested(sent, found, stored))
    assert call is not None
    agreed = Approved(wait_id="w", digest=call_digest("acme", call) or "", by=("user:bo",))
    return call.model_copy(update={"status": "dispatched", "attempt": 1, "approved": agreed})


def test_who_approves_a_call_approves_the_generations_of_its_secrets() -> None:
    """Those of the definition and of what is stored are looked up first; others change nothing."""
    found, stored = search(approval=AGREED), stored_at("tenant:search:all", {"lang": "secret://lang"})
    sent = submission(tool="search", arguments={"query": "x"})
    wanted = decide_submit(sent, None, find_tool=lambda *_: found, find_stored=stored, execution=None, now=NOW)
    assert wanted == Wanted(secrets=frozenset({"wiki_key", "lang"}))
    known = sent._replace(generations={"wiki_key": 3, "lang": 0, "other": 9})
    first = requested(known, found, stored)
    assert first.secrets == {"wiki_key": 3, "lang": 0}
    again = requested(known._replace(generations={"wiki_key": 4, "lang": 0}), found, stored)
    digests = {call_digest("acme", call) for one in (first, again) if (call := evolve_call(None, one))}
    assert len(digests) == 2


def test_a_key_that_was_used_before_needs_no_look() -> None:
    """It is told from the call that it stands for."""
    found = search(approval=AGREED)
    call = evolve_call(None, requested(submission()._replace(generations={}), tool(define())))
    assert submit(submission(), call, find_tool=lambda *_: found) == ()
    with pytest.raises(Conflict):
        submit(submission()._replace(fingerprint="other"), call, find_tool=lambda *_: found)


@pytest.mark.parametrize(
    "by_now",
    [
        StoredValues(setup={"lang": "en"}),
        StoredValues(setup={"lang": "de"}, arguments={"limit": 5}),
        NOTHING,
    ],
)
def test_what_is_stored_must_be_as_it_was_approved(by_now: StoredValues) -> None:
    """Changed, added or removed since: nothing is sent."""
    found, before = search(approval=AGREED), StoredValues(setup={"lang": "de"})
    call = approved(found, stored_at("tenant:search:all", before.setup), wiki_key=1)
    held = start(digest=call_digest("acme", call))
    (voided,), answer = decide_start(held, call, by_now=ByNow(found, by_now), now=LATER)
    assert (voided.kind, answer.verdict) == ("call.approval_voided.v1", "drop")
    (started,), answer = decide_start(held, call, by_now=ByNow(found, before), now=LATER)
    assert (started.kind, answer.verdict) == ("call.attempt_started.v1", "go")
