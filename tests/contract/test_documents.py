"""Generated documents: they stand in `docs/` as the source says, name every subject, and are valid."""

import inspect
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import jsonschema_rs
import pytest

from tests.source import ROOT
from tests.unit.contracts.calls import DISPATCHED, NOW, REQUESTED, after
from toolbus.documents import render, write
from toolbus.documents.asyncapi import asyncapi
from toolbus.documents.channels import TENANT, channels, overlaps
from toolbus.documents.messages import ANSWER, PROBLEM, components
from toolbus.documents.tables import STATUSES
from toolbus_contracts import subjects
from toolbus_contracts.calls import CallStatus, view_call
from toolbus_contracts.errors import CODES, Fault, Unreadable
from toolbus_contracts.problems import problem
from toolbus_contracts.subjects import names

DOCS = ROOT / "docs"
CHECK = ROOT / "tests/contract/asyncapi"
ELSEWHERE = {"README.md", "openapi.json"}  # openapi.json comes from the dispatcher's application
DOCUMENTS = render()


def test_docs_stand_as_the_source_says() -> None:
    """After a change to a command, an event, a view, a code or a subject: `make schemas`, and commit both."""
    stored = {str(path.relative_to(DOCS)): path for path in DOCS.rglob("*.*") if path.is_file()}
    generated = {name for name in stored if name.startswith("schemas/") or name in DOCUMENTS}
    assert {name: stored[name].read_text("utf-8") for name in generated} == DOCUMENTS


def test_writing_removes_what_is_gone(tmp_path: Path) -> None:
    """A schema whose message was removed does not stay behind; what others put there does."""
    (tmp_path / "schemas" / "events").mkdir(parents=True)
    (tmp_path / "schemas" / "events" / "gone.v1.json").write_text("{}")
    (tmp_path / "openapi.json").write_text("{}")
    write(tmp_path)
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {*DOCUMENTS, "openapi.json"}


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.startswith("schemas/")])
def test_a_schema_is_valid(name: str) -> None:
    """Each is JSON Schema 2020-12, and says which."""
    schema = json.loads(DOCUMENTS[name])
    assert schema["$schema"].endswith("2020-12/schema")
    jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize("path", sorted((ROOT / "tests/contract/golden").glob("*.json")), ids=lambda path: path.stem)
def test_golden_events_fit_their_schemas(path: Path) -> None:
    """What is published about a kind is true of what is stored."""
    schema = json.loads(DOCUMENTS[f"schemas/events/{path.stem}.json"])
    jsonschema_rs.validator_for(schema).validate(json.loads(path.read_text()))


def test_every_subject_has_a_channel() -> None:
    """Whatever a function in `names.py` builds, and whatever a stream keeps, is documented."""
    addresses = {channel.address for channel in channels()}
    assert {names.WAKE, names.START, names.OUTCOME} <= addresses
    built = [function for _, function in inspect.getmembers(names, inspect.isfunction) if makes_subject(function)]
    for function in built:
        filled = function(*("{x}" for p in inspect.signature(function).parameters.values() if p.default is p.empty))
        assert any(overlaps(filled.replace("{x}", "*"), address) for address in addresses), function.__name__
    for stream in subjects.STREAMS:
        for subject in stream.subjects:
            assert any(overlaps(subject, address) for address in addresses), subject


def makes_subject(function: object) -> bool:
    """Whether a function of `names.py` gives a whole subject."""
    return getattr(function, "__name__", "") not in {"subject_token", "tenant_of", "secret_of", "event"}


def test_every_permission_is_a_channel_or_the_servers_own() -> None:
    """A user may do nothing on a subject of ours that no document names."""
    addresses = {channel.address for channel in channels()}
    for user in subjects.users([TENANT]):
        for subject in (*user.permissions.publish, *user.permissions.subscribe):
            is_ours = subject.startswith("toolbus.")
            assert not is_ours or any(overlaps(subject, address) for address in addresses), (user.name, subject)


@pytest.mark.parametrize(
    ("name", "publishers", "readers", "stream"),
    [
        ("command.call.submit", ["client_{tenant}"], ["dispatcher"], "COMMANDS"),
        ("ask.call.get", ["client_{tenant}"], ["dispatcher"], None),
        ("event.call.succeeded.v1", ["dispatcher"], ["client_{tenant}"], "EVENTS"),
        ("work.api_call", ["dispatcher"], ["api_caller"], "WORK"),
        ("secret", ["integrations"], ["dispatcher", "api_caller", "integrations"], "SECRETS"),
        ("start", ["api_caller", "integrations"], ["dispatcher"], None),
        ("outcome", ["dispatcher", "api_caller", "integrations"], ["dispatcher"], "INTERNAL"),
    ],
)
def test_channels_say_who_may_do_what(name: str, publishers: list[str], readers: list[str], stream: str | None) -> None:
    """Read off the permissions that the server enforces, durables included."""
    channel = next(one for one in channels() if one.name == name)
    everybody = subjects.users([TENANT])
    assert channel.publishers(everybody) == publishers
    assert channel.readers(everybody) == readers
    assert channel.stream == stream


@pytest.mark.parametrize(
    ("pattern", "address", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        ("a.b", "a.{x}", True),
        ("a.*", "a.b.c", False),
        ("a.b.c", "a.b", False),
        ("a.c", "a.b", False),
        ("b.>", "a.b", False),
    ],
)
def test_patterns_take_addresses_as_the_server_does(pattern: str, address: str, *, expected: bool) -> None:
    """A star is one token, a greater sign at least one; a placeholder may be any token."""
    assert overlaps(pattern, address) == expected


def test_key_events_are_not_told_on_the_bus() -> None:
    """Clients of a tenant do not hear about keys."""
    assert not [channel.name for channel in channels() if channel.name.startswith("event.key.")]


def test_what_is_written_by_hand_fits_what_is_sent() -> None:
    """Problems and answers validate against the schemas that the document shows."""
    told = problem(Unreadable("invalid_value", "no", (Fault("/a", "NUL"),)), instance="req_1", call_id="call_1")
    jsonschema_rs.validator_for(PROBLEM).validate(told)
    assert set(told) == set(PROBLEM["properties"])
    view = view_call(after(REQUESTED, DISPATCHED), tenant="acme", now=NOW).model_dump(mode="json")
    answers = jsonschema_rs.validator_for({**ANSWER, "components": components()})
    answers.validate({"status": 202, "call": view})
    answers.validate({"status": 422, "problem": told, "retry_after_s": 1.0})


def test_every_status_and_every_code_is_told() -> None:
    """The two tables are complete."""
    assert set(STATUSES) == set(get_args(CallStatus))
    assert all(f"| `{status}` |" in DOCUMENTS["statuses.md"] for status in STATUSES)
    assert all(f"| `{code}` | {CODES[code].status} |" in DOCUMENTS["errors.md"] for code in CODES)


def test_every_reference_of_the_bus_leads_somewhere() -> None:
    """A channel, and a message in it, for each operation; a component for each message."""
    document = asyncapi()
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
        found = document
        for part in reference.split("/"):
            assert part in found, reference
            found = found[part]


@pytest.mark.skipif(not (CHECK / "node_modules").exists(), reason="`make asyncapi` installs the official parser")
def test_the_official_parser_takes_the_document() -> None:
    """AsyncAPI 3.0 without an error or a warning."""
    node = shutil.which("node")
    assert node is not None
    command = [node, str(CHECK / "check.mjs"), str(DOCS / "asyncapi.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
