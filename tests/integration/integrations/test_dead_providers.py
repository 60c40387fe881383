"""A provider that blocks, leaks, gives far too much or is dead, on the whole path: the others run meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import httpx
import pytest

from tests.integration.http.system import ROOT, System, until
from tests.integration.integrations.calling import ENDED, called, define
from toolbus_contracts import subjects
from toolbus_contracts.calls import RecordOutcome
from toolbus_runtime.bus.listening import Incoming

pytestmark = pytest.mark.timeout(120)
PROMPT_S = 5.0  # a call of another provider, while this one does what it should not
FIFTY_MEGABYTES = 50_000_000
LONG_PAUSE_S = 1.0  # a shorter one is waited for
ONCE = {"attempts": 1}


def submitted(http: httpx.Client, name: str, **arguments: object) -> str:
    """The id of a call that nobody waits for."""
    answer = http.post("/v1/calls", json={"tool": name, "arguments": arguments})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def shown(http: httpx.Client, call_id: str) -> dict[str, Any]:
    """The call as it is now."""
    found: dict[str, Any] = http.get(f"/v1/calls/{call_id}").json()
    return found


def took_s(call: dict[str, Any]) -> float:
    """From when it was asked for until it ended."""
    begun, ended = (datetime.fromisoformat(call[name]) for name in ("requested_at", "finished_at"))
    return (ended - begun).total_seconds()


def others_answer_during(http: httpx.Client, call_id: str) -> tuple[dict[str, Any], int]:
    """The call as it ended, and how many calls of another provider succeeded before that, each promptly."""
    times = 0
    while (call := shown(http, call_id))["status"] not in ENDED:
        other = called(http, "echo", number=times)
        assert (other["status"], other["output"]) == ("succeeded", {"number": times}), other
        assert took_s(other) < PROMPT_S
        if (ended := shown(http, call_id))["finished_at"] is None or other["finished_at"] < ended["finished_at"]:
            times += 1
    return call, times


@contextmanager
def outcomes_of(system: System) -> Iterator[list[RecordOutcome]]:
    """What executors tell on the bus from now on."""
    heard: list[RecordOutcome] = []

    def hear(message: Incoming) -> None:
        heard.append(RecordOutcome.model_validate_json(message.data))

    bus = system.run(system.connect(ROOT))
    try:
        system.run(bus.subscribe(subjects.OUTCOME, hear))
        yield heard
    finally:
        system.run(bus.close())


@pytest.fixture(scope="module", autouse=True)
def defined(http: httpx.Client) -> None:
    """One tool of a provider that does well, and one for each thing that the other does."""
    define(http, "echo", {"provider": "dummy"})
    assert called(http, "echo", number=-1)["status"] == "succeeded"  # its process runs
    for method in ("block", "leak"):
        define(http, method, {"provider": "misbehaving", "method": method}, retry=ONCE)
    bloat = {"provider": "misbehaving", "method": "bloat"}
    define(http, "bloat", bloat)
    define(http, "bloat_much", bloat, max_output_bytes=50 * 1024**2)
    define(http, "later", bloat, retry={"attempts": 5, "first_delay_s": 0.0})
    crash = {"provider": "misbehaving", "method": "crash"}
    define(http, "die", crash, retry={"attempts": 7, "first_delay_s": 0.0})


@pytest.mark.parametrize(
    ("name", "number", "words"),
    [("block", 600, "no sign of life"), ("leak", 0, "more memory than")],
)
def test_others_run_while_a_provider_harms_itself(http: httpx.Client, name: str, number: int, words: str) -> None:
    """It is ended, which its call is told; calls of others end promptly meanwhile, and its next one too."""
    call, times = others_answer_during(http, submitted(http, name, number=number))
    assert times >= 1
    assert (call["status"], call["error"]["code"]) == ("failed", "executor_lost"), call
    assert words in call["error"]["message"]
    assert called(http, "later", number=3)["output"]["text"] == "xxx"


def test_others_run_while_50_megabytes_are_refused(http: httpx.Client) -> None:
    """More than the tool may give: the call fails, the process goes on."""
    *_, last = [submitted(http, "bloat", number=FIFTY_MEGABYTES) for _ in range(3)]
    call, times = others_answer_during(http, last)
    assert times >= 1
    assert (call["status"], call["error"]["code"]) == ("failed", "response_too_large"), call
    again = called(http, "bloat", number=3)
    assert (again["output"]["text"], again["attempt"]) == ("xxx", 1)


def test_others_run_while_50_megabytes_are_handed_on(http: httpx.Client) -> None:
    """Where a tool may give as much, all of it comes through the bus, and out over HTTP."""
    call, times = others_answer_during(http, submitted(http, "bloat_much", number=FIFTY_MEGABYTES))
    assert times >= 1
    assert call["status"] == "succeeded", call
    told = call["output"]["text"]
    assert told["bytes"] == FIFTY_MEGABYTES + 2
    body = http.get(f"/v1/payloads/{told['$payload']}").content
    assert (len(body), body.count(b"x")) == (FIFTY_MEGABYTES + 2, FIFTY_MEGABYTES)


def test_a_dead_provider_says_when_to_come_back_while_others_run(http: httpx.Client, system: System) -> None:
    """In seconds on the bus, as a time over HTTP; the call is tried again then, and not before."""
    assert called(http, "die")["status"] == "failed"  # each pause is twice as long as the one before
    with outcomes_of(system) as heard:
        call_id = submitted(http, "later", number=3)
        waiting = until(lambda: (call := shown(http, call_id))["status"] in {"retrying", *ENDED} and call)
        assert (waiting["status"], waiting["error"]["code"]) == ("retrying", "unavailable"), waiting
        retry_at = datetime.fromisoformat(waiting["retry_at"])
        asked = next(one for one in heard if one.call_id == call_id)
        assert asked.error is not None
        assert (asked.result, asked.error.code, asked.error.retryable) == ("not_sent", "unavailable", True)
        assert asked.retry_after_s is not None
        assert asked.retry_after_s > LONG_PAUSE_S
        came_s = (retry_at - datetime.fromisoformat(waiting["requested_at"])).total_seconds()
        assert came_s >= asked.retry_after_s
        call, times = others_answer_during(http, call_id)
    assert times >= 1
    assert (call["status"], call["attempt"], call["output"]["text"]) == ("succeeded", 2, "xxx"), call
    assert datetime.fromisoformat(call["finished_at"]) >= retry_at


def test_a_provider_that_dies_while_it_is_loaded_says_when_to_come_back(http: httpx.Client) -> None:
    """Whoever reads it or makes a tool of it hears Retry-After, which grows; others are called meanwhile."""
    pauses = [_pause_s(http.get("/v1/integrations/deadly/tool")) for _ in range(6)]
    assert pauses[0] == 1
    assert pauses[-1] > 1
    section = {"name": "deadly", "integration": {"provider": "deadly"}}
    assert _pause_s(http.put("/v1/tools/deadly", json=section)) > 1
    view = http.get("/v1/integrations/deadly").json()
    assert (view["fault"]["code"], view["methods"]) == ("unavailable", [])
    assert called(http, "echo", number=1)["status"] == "succeeded"


def _pause_s(answer: httpx.Response) -> int:
    """What Retry-After says. Its provider is away, and this is what was answered."""
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable"), answer.text
    return int(answer.headers["Retry-After"])
