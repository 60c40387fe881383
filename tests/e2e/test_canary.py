"""Fifty secrets through every way that a call can take; then every byte that is left is searched for them."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.canaries import COUNT, Canary, Traitor, files_below, make_canaries, traces
from tests.e2e.canary_places import metrics_of, rows_of
from tests.e2e.canary_streams import messages_of
from tests.e2e.test_up import Up, running
from tests.integration.api_caller.raw_target import OK, RawTarget, raw_target, saying
from tests.nats_fixtures import until
from tests.secret_forms import forms_found

PLANTED = "a-text-that-everybody-may-read"  # shows that the search finds what is there
PLACES = ("/v1/calls", "/nats/", "rows of events", "messages of EVENTS")  # where it has to be found
SECOND = "sk_second_0123456789abcdefghijkl"  # what one of them was changed to
ENDED = frozenset({"succeeded", "failed", "in_doubt"})


@asynccontextmanager
async def traitor(canaries: dict[str, Canary]) -> AsyncIterator[tuple[Traitor, RawTarget]]:
    """A target that gives every secret away, and another one to which it leads."""
    made = Traitor(canaries)
    async with raw_target(made.answer) as target, raw_target(saying(OK)) as elsewhere:
        made.url, made.elsewhere = target.url, elsewhere.url
        yield made, elsewhere


def lay_down(canaries: dict[str, Canary], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the folder and of the environment are there before anything starts."""
    (folder / "default").mkdir(parents=True)
    monkeypatch.setenv("TOOLBUS_SECRETS_FOLDER", str(folder))
    monkeypatch.setenv("TOOLBUS_LOG_LEVEL", "debug")
    for canary in canaries.values():
        if canary.source == "folder":
            (folder / "default" / canary.name).write_text(canary.value + "\n")
        elif canary.source == "environment":
            monkeypatch.setenv(f"TOOLBUS_SECRET_DEFAULT__{canary.name.upper()}", canary.value)


async def prepare(http: httpx.AsyncClient, canaries: dict[str, Canary], url: str) -> None:
    """The others are in the table, and each has a tool that sends it."""
    for canary in canaries.values():
        if canary.source == "table":
            body = {"value": canary.value, "hosts": ["127.0.0.1"], "tools": [canary.name]}
            assert (await http.put(f"/v1/secrets/{canary.name}", json=body)).is_success
        timeout_s = 0.5 if canary.kind == "hang" else 10
        retry = {"attempts": 2, "first_delay_s": 0.05, "retry_on": [503]}
        definition = {"name": canary.name, "api_call": canary.section(url), "timeout_s": timeout_s, "retry": retry}
        answer = await http.put(f"/v1/tools/{canary.name}", json=definition)
        assert answer.is_success, answer.text


async def call(http: httpx.AsyncClient, tool: str, **more: Any) -> dict[str, Any]:
    """The call as it stands when it ended, or nobody knows how."""
    answer = await http.post("/v1/calls", json={"tool": tool, **more})
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()

    async def is_over() -> bool:
        nonlocal found
        found = (await http.get(f"/v1/calls/{found['id']}")).json()
        return found["status"] in ENDED

    await until(is_over, within_s=60.0)
    return found


def is_expected(canary: Canary, found: dict[str, Any]) -> bool:
    """Whether the call came to what its target deserves."""
    code = (found["error"] or {}).get("code")
    match canary.kind:
        case "ok" | "text" | "home" | "large":
            return bool(found["status"] == "succeeded")
        case "error" | "refused":
            return (found["status"], code) == ("failed", "http_status")
        case "leak":
            return bool(code == "secret_not_allowed")
        case "away":
            takes_it_along = canary.place in {"json", "data"}
            return bool(code == "secret_not_allowed") if takes_it_along else bool(found["status"] == "succeeded")
        case _:
            return bool(found["status"] == ("in_doubt" if canary.method == "POST" else "failed"))


async def looked_at(http: httpx.AsyncClient, calls: list[dict[str, Any]]) -> list[tuple[str, bytes]]:
    """Everything that people can read of it over HTTP."""
    paths = ["/metrics", "/v1/secrets", "/v1/calls?limit=100", "/v1/tools?limit=100", "/v1/waits", "/v1/dead"]
    paths += [
        f"/v1/executions/{found['execution_id']}{part}"
        for found in calls[:5]
        for part in ("", "/events", "/transitions")
    ]
    answers = [(path, await http.get(path)) for path in paths]
    assert {path: answer.status_code for path, answer in answers if not answer.is_success} == {}
    payloads = [found["output"]["json"]["$payload"] for found in calls if "$payload" in str(found["output"])]
    assert payloads
    answers += [(digest, await http.get(f"/v1/payloads/{digest}")) for digest in payloads]
    return [(path, answer.content) for path, answer in answers]


async def change(http: httpx.AsyncClient, target: Traitor, canary: Canary) -> str:
    """It is something else from now on, and is sent once as such; then it is gone, and is not sent."""
    target.canaries[canary.name] = canary._replace(value=SECOND)
    target.home.clear()
    body = {"value": SECOND, "hosts": ["127.0.0.1"]}
    assert (await http.put(f"/v1/secrets/{canary.name}", json=body)).is_success
    assert (await call(http, canary.name))["status"] == "succeeded"
    assert target.home == {canary.name}
    assert (await http.delete(f"/v1/secrets/{canary.name}")).is_success
    return str((await call(http, canary.name))["error"]["code"])


async def through_everything(up: Up, canaries: dict[str, Canary]) -> list[tuple[str, bytes]]:
    """All calls were made, and came to what they had to; what can be read of them over HTTP."""
    async with traitor(canaries) as (target, elsewhere), up.client() as http:
        await prepare(http, canaries, target.url)
        async with up.client() as many:
            found = await asyncio.gather(*(call(many, name) for name in canaries))
        wrong = [
            (canary, one["status"], one["error"])
            for canary, one in zip(canaries.values(), found, strict=True)
            if not is_expected(canary, one)
        ]
        assert wrong == []
        assert target.came | target.home == set(canaries)  # each of them was really sent
        homely = {name for name, one in canaries.items() if one.kind == "home" and one.place != "params"}
        assert target.home >= homely  # a redirect has a query of its own
        for seen in elsewhere.seen:
            raw = repr(seen).encode()
            assert [name for name, canary in canaries.items() if forms_found(raw, canary.value)] == []
        named = {"tool": "canary_0", "arguments": {"params": {"x": "secret://canary_1"}}}
        refused = (await http.post("/v1/calls", json=named)).json()
        assert (refused["code"], refused["errors"][0]["path"]) == ("invalid_arguments", "/arguments/params/x")
        assert await change(http, target, canaries["canary_0"]) == "secret_unavailable"
        await call(http, "canary_3", labels={"planted": PLANTED})
    async with up.client() as http:  # with connections of its own: those of before may be about to close
        return await looked_at(http, found)


@pytest.mark.timeout(300)
async def test_no_secret_is_left_anywhere(
    kept: tuple[str, tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Database, files of NATS, logs, metrics, and what HTTP tells: none of them, in none of its forms."""
    canaries = make_canaries()
    assert len(canaries) == COUNT
    lay_down(canaries, tmp_path / "mounted", monkeypatch)
    folder, (url, flags) = tmp_path / "data", kept
    async with running(folder, *flags) as up:
        told = await through_everything(up, canaries)
        assert up.process is not None
        pages = await metrics_of(up.process.pid)
        await up.end(signal.SIGTERM)
    assert len(pages) == (3 if "--processes" in flags else 1)  # an executor that serves nothing has none
    told += [*pages, *await rows_of(url), *files_below(folder, folder.with_suffix(".log"))]
    told += await messages_of(folder, "default")
    values = [*((name, canary.value) for name, canary in canaries.items()), ("second", SECOND)]
    assert list(traces(values, told)) == []
    assert set(missed(told, url)) == set()


def missed(told: list[tuple[str, bytes]], url: str) -> list[str]:
    """Places in which the search does not even find what has to be there."""
    there = {
        PLANTED: [*PLACES, *(["toolbus.db"] if url.startswith("sqlite") else [])],
        "Toolbus is ready": ["data.log"],
        "toolbus_effects_total": ["/metrics", *(where for where, _ in told if where.startswith("metrics on"))],
    }
    return [
        place
        for text, places in there.items()
        for found in ["\n".join(traces([("it", text)], told))]
        for place in places
        if place not in found
    ]
