"""Retry, limits and probe of a tool: what may be written, what it means when it is not, and what is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from toolbus_contracts.keys import CreateKey
from toolbus_contracts.tools import Limits, Probe, Rate, Retry, RetryBudget, ToolDefinition


def define(**parts: Any) -> ToolDefinition:
    """A tool with these promises."""
    return ToolDefinition.model_validate(
        {"name": "t", "api_call": {"method": "GET", "url": "https://a.example"}, **parts}
    )


def test_what_is_not_written_is_this() -> None:
    """Three attempts, half a second and a whole one apart; no status asks for more, no budget bounds them."""
    assert Retry() == Retry(
        attempts=3, first_delay_s=0.5, factor=2.0, max_delay_s=60.0, jitter=0.2, retry_on=(), budget=None
    )
    assert RetryBudget() == RetryBudget(ratio=0.2, per_s=1.0)
    assert Rate(calls=5) == Rate(calls=5, per_s=1.0)
    assert Probe(tool="find", happened="true") == Probe(tool="find", arguments={}, happened="true", settle_after_s=0.0)
    assert (define().retry, define().limits, define().probe) == (None, None, None)


@pytest.mark.parametrize(
    "retry",
    [
        {},
        {"attempts": 1},
        {"attempts": 100, "first_delay_s": 0, "factor": 1, "max_delay_s": 86400, "jitter": 1},
        {"first_delay_s": 86400, "factor": 100, "max_delay_s": 0, "jitter": 0},
        {"retry_on": [300, 599, 503]},
        {"retry_on": list(range(400, 464))},
        {"budget": {}},
        {"budget": {"ratio": 0, "per_s": 0}},
        {"budget": {"ratio": 10, "per_s": 10_000}},
    ],
)
def test_a_retry_within_its_bounds_is_taken(retry: dict[str, Any]) -> None:
    """Up to each bound."""
    found = define(retry=retry).retry
    assert found is not None
    written = found.model_dump(mode="json", exclude_unset=True)
    assert Retry.model_validate(written) == found


@pytest.mark.parametrize(
    "retry",
    [
        {"attempts": 0},
        {"attempts": 101},
        {"attempts": "3"},
        {"attempts": True},
        {"first_delay_s": -0.1},
        {"first_delay_s": 86401},
        {"factor": 0.5},
        {"factor": 101},
        {"max_delay_s": -1},
        {"max_delay_s": 86401},
        {"jitter": -0.1},
        {"jitter": 1.1},
        {"retry_on": [299]},
        {"retry_on": [600]},
        {"retry_on": ["503"]},
        {"retry_on": [*range(400, 465)]},
        {"budget": {"ratio": -1}},
        {"budget": {"ratio": 11}},
        {"budget": {"per_s": -1}},
        {"budget": {"per_s": 10_001}},
        {"budget": {"burst": 3}},
        {"tries": 3},
    ],
)
def test_a_retry_beyond_its_bounds_is_refused(retry: dict[str, Any]) -> None:
    """So is what nothing would heed."""
    with pytest.raises(ValidationError):
        define(retry=retry)


@pytest.mark.parametrize(
    "limits",
    [
        {"concurrency": 1},
        {"concurrency": 100_000},
        {"rate": {"calls": 1}},
        {"rate": {"calls": 100_000, "per_s": 86400}},
        {"rate": {"calls": 1, "per_s": 0.001}},
        {"concurrency": 5, "rate": {"calls": 20, "per_s": 1}},
    ],
)
def test_limits_within_their_bounds_are_taken(limits: dict[str, Any]) -> None:
    """Of a tool and of a key."""
    found = define(limits=limits).limits
    assert found == Limits.model_validate(limits)
    assert CreateKey.model_validate({"subject": "user:ana", "scopes": ["submit"], "limits": limits}).limits == found


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"concurrency": None},
        {"concurrency": 0},
        {"concurrency": 100_001},
        {"concurrency": 1.5},
        {"rate": {}},
        {"rate": {"calls": 0}},
        {"rate": {"calls": 100_001}},
        {"rate": {"calls": 1, "per_s": 0}},
        {"rate": {"calls": 1, "per_s": 86401}},
        {"rate": 5},
        {"per_s": 5},
    ],
)
def test_limits_beyond_their_bounds_are_refused(limits: dict[str, Any]) -> None:
    """Those that limit nothing too."""
    with pytest.raises(ValidationError):
        define(limits=limits)
    with pytest.raises(ValidationError):
        CreateKey.model_validate({"subject": "user:ana", "scopes": ["submit"], "limits": limits})


def test_limits_that_limit_nothing_say_what_is_missing() -> None:
    """Whoever writes an empty section means something."""
    with pytest.raises(ValidationError, match="concurrency or rate is needed"):
        Limits()


@pytest.mark.parametrize(
    "probe",
    [
        {"tool": "find", "happened": "t" * 4096},
        {"tool": "find", "happened": "true", "arguments": {"key": "$ call.id"}, "settle_after_s": 86400},
    ],
)
def test_a_probe_within_its_bounds_is_taken(probe: dict[str, Any]) -> None:
    """Its expressions are looked at when the tool is defined."""
    assert define(probe=probe).probe == Probe.model_validate(probe)


@pytest.mark.parametrize(
    "probe",
    [
        {},
        {"tool": "find"},
        {"happened": "true"},
        {"tool": "no name", "happened": "true"},
        {"tool": "find@2", "happened": "true"},
        {"tool": "find", "happened": ""},
        {"tool": "find", "happened": "t" * 4097},
        {"tool": "find", "happened": True},
        {"tool": "find", "happened": "true", "arguments": []},
        {"tool": "find", "happened": "true", "settle_after_s": -1},
        {"tool": "find", "happened": "true", "settle_after_s": 86401},
    ],
)
def test_a_probe_beyond_its_bounds_is_refused(probe: dict[str, Any]) -> None:
    """Before anything is asked."""
    with pytest.raises(ValidationError):
        define(probe=probe)


@pytest.mark.parametrize(
    "parts",
    [{"retry": {"attempts": 5}}, {"limits": {"concurrency": 1}}, {"probe": {"tool": "find", "happened": "true"}}],
)
def test_promises_are_part_of_what_is_pinned(parts: dict[str, Any]) -> None:
    """Another retry, limit or probe can change the effect: the hash of the definition changes with it."""
    assert define(**parts).definition_hash() != define().definition_hash()
