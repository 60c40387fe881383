"""Published examples, as they are: each is applied to one `toolbus up`, and its tools are called as its steps say."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import yaml

from tests.e2e.published.effects import EFFECTS, SECRETS, Made, request_made
from tests.e2e.published.examples import EXAMPLES, Example, Step
from tests.e2e.published.expressions import computed
from tests.e2e.published.outside import Outside, outside
from tests.e2e.test_up import Up, running
from tests.nats_fixtures import until
from tests.unit.integrations.providers.chromium import CHROMIUM
from toolbus.cli.app import run
from toolbus_integrations.hosting.shelf import ours

pytestmark = pytest.mark.timeout(180)
FOLDER = Path(__file__).parent / "published"
ENDED = frozenset({"succeeded", "failed", "in_doubt", "refused", "expired", "cancelled", "denied"})
UNPUBLISHED = {"dummy", "mailgun"}  # of these there is no example
PLACES = {"docs.julep.ai", "julep-ai/julep", "julep-ai/library"}
UNTRACED = {"hello.yaml"}  # where it was published is not known any more


@dataclass(frozen=True)
class World:
    """One installation for all examples, and what is outside of it."""

    up: Up
    http: httpx.AsyncClient
    outside: Outside


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """It knows the secrets that the examples name."""
    folder = tmp_path_factory.mktemp("published")
    async with outside(folder) as around, running(folder / "data") as up, up.client() as http:
        account = around.vendors["google_sheets"].setup["service_account_json"]
        for name, value in {**SECRETS, "BASE64_ENCODED_SERVICE_ACCOUNT_JSON": account}.items():
            assert (await http.put(f"/v1/secrets/{name}", json={"value": value})).is_success
        yield World(up, http, around)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", EXAMPLES)
async def test_each_tool_of_a_published_example_is_called_as_its_steps_say(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The document loads unchanged, what is not used is told, and each call comes to what it has to."""
    document, example = yaml.safe_load((FOLDER / f"{name}.yaml").read_text()), EXAMPLES[name]
    tools = {tool["name"]: tool for tool in document["tools"]}
    _is_whole(document, tools, example)
    providers = {tool.get("integration", {}).get("provider") for tool in tools.values()}
    if "remote_browser" in providers and not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM} (Debian's package chromium)")
    monkeypatch.setenv("TOOLBUS_URL", world.up.credentials["url"])
    monkeypatch.setenv("TOOLBUS_API_KEY", world.up.credentials["api_key"])
    command = ("tools", "apply", str(FOLDER / f"{name}.yaml"), "--scope", f"task:{name}")
    code = await asyncio.to_thread(run, command)
    out, err = capsys.readouterr()
    assert code == 0, err
    _is_applied(document, out.splitlines(), err.splitlines())
    execution = (await world.http.post("/v1/executions", json={"scopes": [f"task:{name}"]})).json()["id"]
    done: list[Any] = []
    for step in example.steps:
        found = _at(document, step.at)
        section = await _prepare(world, name, found["tool"])
        arguments = _arguments(found, step, example, done=done, around=world.outside)
        call = {"tool": found["tool"], "execution_id": execution, "context": {"task": name}, "arguments": arguments}
        done.append(await _succeeded(world, call, section))
    for tool in (tool for tool in tools.values() if tool["type"] == "system"):
        answer = await world.http.post("/v1/calls", json={"tool": tool["name"], "execution_id": execution})
        assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_type"), answer.text


def test_every_example_and_every_provider_is_there() -> None:
    """Of each provider there is an example but of those of which none is published."""
    documents = {path.stem: yaml.safe_load(path.read_text()) for path in FOLDER.glob("*.yaml")}
    assert documents.keys() == EXAMPLES.keys()
    sections = [tool.get("integration") for document in documents.values() for tool in document["tools"]]
    found = {section["provider"].replace("-", "_") for section in sections if section}
    assert found == set(ours()) - UNPUBLISHED


def test_every_example_says_where_it_is_published() -> None:
    """Each document has a row in the table beside it: its page or file, the commit, and what differs."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (FOLDER / "SOURCES.md").read_text().splitlines()
        if line.startswith("| ") and ".yaml | " in line
    ]
    assert [row[0] for row in rows] == sorted(path.name for path in FOLDER.glob("*.yaml"))
    for name, place, path, commit, differs in rows:
        assert differs, name
        if name in UNTRACED:
            assert (place, path, commit) == ("not found again", "-", "-")
        else:
            assert place in PLACES, name
            assert re.fullmatch(r"[\w./-]+", path), name
            assert re.fullmatch(r"-" if place == "docs.julep.ai" else r"[0-9a-f]{8}", commit), name


def _is_whole(document: Mapping[str, Any], tools: Mapping[str, Any], example: Example) -> None:
    """Each step that calls a tool which can be called here is in the list, and each such tool is in a step."""
    callable_here = {name for name, tool in tools.items() if tool["type"] in {"integration", "api_call", "function"}}
    steps = dict(_steps({key: value for key, value in document.items() if key != "tools"}))
    assert {at for at, tool in steps.items() if tool in callable_here} == {step.at for step in example.steps}
    assert callable_here - {steps[step.at] for step in example.steps} == example.idle


def _steps(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict) and isinstance(value.get("tool"), str):
        yield at.removeprefix("/"), value["tool"]
    for key, part in parts:
        yield from _steps(part, f"{at}/{key}")


def _at(document: Any, path: str) -> Any:
    for key in path.split("/"):
        document = document[int(key) if isinstance(document, list) else key]
    return document


def _is_applied(document: Mapping[str, Any], out: list[str], err: list[str]) -> None:
    """Every tool is registered but those of foreign types; everything else is told, line by line."""
    foreign = [tool for tool in document["tools"] if tool["type"].startswith("computer")]
    rows = [line.split() for line in out]
    assert [row[0] for row in rows[1:]] == [tool["name"] for tool in document["tools"] if tool not in foreign]
    assert {row[2] for row in rows[1:]} == {"created"}
    told = [line.partition(" /")[2] for line in err]
    assert [line for line in told if line.endswith(": not used yet")] == [
        f"{key}: not used yet" for key in document if key != "tools"
    ]
    assert len([line for line in told if "nothing here carries out" in line]) == len(foreign)


async def _prepare(world: World, name: str, tool: str) -> Mapping[str, Any]:
    """
    The tool reaches what is outside: its provider by what is stored for it, a request by another origin in its url.

    Gives its section as it is defined.
    """
    scope = {"scope": f"task:{name}"}
    definition = (await world.http.get(f"/v1/tools/{tool}", params=scope)).json()["definition"]
    section: dict[str, Any] = definition[definition["type"]]
    if definition["type"] == "api_call":
        section["url"] = world.outside.target.moved(section["url"])
        answer = await world.http.put(f"/v1/tools/{tool}", params=scope, json=definition)
        assert answer.is_success, answer.text
    elif definition["type"] == "integration":
        setup = world.outside.stored(section["provider"], section.get("setup") or {})
        answer = await world.http.put(f"/v1/stored/task/{name}/{tool}", json={"setup": setup})
        assert answer.is_success, answer.text
    return section


def _arguments(found: Mapping[str, Any], step: Step, example: Example, *, done: list[Any], around: Outside) -> Any:
    """The arguments of the step: expressions computed, files where an example only names one, urls that lead here."""
    known = dict(step.known(done, around))
    steps = {0: {}, **known.pop("steps", {})}
    steps[0] = {"input": example.input, **steps[0]}
    names = {"_": example.input, "steps": steps, **known}
    arguments = computed(found.get("arguments", {}), names)
    return around.target.moved({**arguments, **{name: around.files[file] for name, file in step.instead.items()}})


async def _succeeded(world: World, call: Mapping[str, Any], section: Mapping[str, Any]) -> Any:
    """The output of the call, which came to what it had to; a function is carried out by its client, which is us."""
    is_function = "parameters" in section
    answer = await world.http.post("/v1/calls", params={} if is_function else {"wait_s": 20}, json=call)
    assert answer.is_success, answer.text
    found = answer.json()
    if is_function:
        return await _answered(world, found, call["arguments"])

    async def is_over() -> bool:
        nonlocal found
        found = (await world.http.get(f"/v1/calls/{found['id']}")).json()
        return found["status"] in ENDED

    await until(is_over, within_s=90)
    assert (found["status"], found["error"]) == ("succeeded", None)
    check = EFFECTS[section["provider"], await _method(world, section)] if "provider" in section else request_made
    await asyncio.to_thread(check, Made(section, call["arguments"], found["output"], world.outside))
    return found["output"]


async def _method(world: World, section: Mapping[str, Any]) -> str:
    """The method, the provider's usual one where none is named."""
    named = section.get("method")
    view = (await world.http.get(f"/v1/integrations/{section['provider']}")).json()
    return str(named or view["methods"][0]["method"])


async def _answered(world: World, call: Mapping[str, Any], arguments: Any) -> Any:
    """The call waits for its client, has the example's arguments, and succeeds with what the client gives."""
    output = {"sum": sum(value for value in arguments.values() if isinstance(value, int)), "of": arguments}

    async def is_taken() -> bool:
        answer = await world.http.post(f"/v1/calls/{call['id']}/complete", json={"output": output})
        return answer.is_success

    await until(is_taken, within_s=30)
    ended = (await world.http.get(f"/v1/calls/{call['id']}")).json()
    assert (ended["status"], ended["arguments"], ended["output"]) == ("succeeded", arguments, output)
    return output
