"""What operators look at: health, readiness, metrics, version, the document, the log."""

import httpx
import pytest

from tests.integration.http.system import System, call, problem_of, until
from toolbus_contracts.envelope import GENESIS
from toolbus_runtime.version import VERSION


def test_health_and_version(system: System) -> None:
    """The process runs, and says which version it is."""
    anybody = system.client(None)
    assert anybody.get("/healthz").json() == {"ok": True}
    assert anybody.get("/v1/version").json() == {"version": VERSION}


def test_readiness_names_every_part(system: System) -> None:
    """NATS, consumers, store, migrations and orphans, each with what was found."""
    told = system.client(None).get("/readyz").json()
    assert told["ready"]
    names = {"nats", "consumers", "store", "migrations", "orphans", "approvals", "integrations"}
    assert {check["name"] for check in told["checks"]} == names
    assert all(check["ok"] and check["detail"] for check in told["checks"])


def test_the_log_can_be_read_by_position(http: httpx.Client, echo: str) -> None:
    """Oldest first, gapless for the reader, filtered by category and kind, each stream chained by hashes."""
    done = call(http, echo)
    events = until(lambda: [e for e in everything(http, category="call") if e["subject_id"] == done["id"]] or None)
    assert [event["kind"] for event in events] == ["call.requested.v1", "call.dispatched.v1", "call.succeeded.v1"]
    assert [event["version"] for event in events] == [1, 2, 3]
    assert len({event["hash"] for event in events} | {GENESIS}) == 4
    kinds = {event["kind"] for event in everything(http, kind="call.succeeded.v1")}
    assert kinds == {"call.succeeded.v1"}
    assert everything(http, category="tool", kind="call.succeeded.v1") == []


def everything(http: httpx.Client, **query: str) -> list[dict[str, str]]:
    """The whole log, page by page."""
    found: list[dict[str, str]] = []
    after: str | None = "0"
    while after is not None:
        page = http.get("/v1/events", params={"after": after, "limit": 100, **query}).json()
        found += page["items"]
        after = page["next_cursor"]
    positions = [int(event["position"]) for event in found]
    assert positions == sorted(set(positions))
    return found


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz", "/v1/version", "/openapi.json"])
def test_open_endpoints_take_get_alone(system: System, path: str) -> None:
    """405 for everything else, also without a key."""
    problem_of(system.client(None).post(path), 405, "method_not_allowed")


def test_metrics_move_with_the_work(system: System, http: httpx.Client, echo: str) -> None:
    """Commands, batches, appends, effects and open calls are counted."""

    def value(name: str) -> float:
        lines = system.client(None).get("/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith(name)).rpartition(" ")[2])

    names = (
        'toolbus_commands_total{outcome="stored"}',
        'toolbus_effects_total{outcome="succeeded"}',
        "toolbus_append_seconds_count",
        "toolbus_batch_commands_sum",
        "toolbus_effect_seconds_count",
    )
    before = {name: value(name) for name in names}
    call(http, echo)
    assert all(value(name) > before[name] for name in names)
    until(lambda: value('toolbus_open_calls{status="dispatched"}') == 0)
    assert value("toolbus_relay_lag_events") >= 0
    assert value('toolbus_pull_in_flight{consumer="WORK.api_caller"}') >= 0
