"""The OpenAPI document: kept as it is generated, and precise about who may do what and how it is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.source import ROOT
from toolbus.openapi import document
from toolbus_contracts.errors import CODES

DOCUMENT: dict[str, Any] = json.loads(document())
OPERATIONS = [
    (f"{method.upper()} {path}", operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]
SECURED = [one for one in OPERATIONS if one[1]["security"]]


def test_the_kept_document_is_the_generated_one() -> None:
    """`make schemas` writes it; a change of the interface shows in review."""
    assert (ROOT / "docs" / "openapi.json").read_text("utf-8") == document()


def test_every_operation_has_a_name_of_its_own() -> None:
    """`calls.submit`, so that generated clients have sensible names."""
    names = [operation["operationId"] for _, operation in OPERATIONS]
    assert len(set(names)) == len(names)
    assert all(name.count(".") == 1 for name in names)


@pytest.mark.parametrize(("name", "operation"), SECURED, ids=[name for name, _ in SECURED])
def test_an_operation_tells_how_it_is_refused(name: str, operation: dict[str, Any]) -> None:
    """Without a key, without the scope, for bad input, while a part is away; each as problem details."""
    wanted = {"401", "422", "503"} | ({"403"} if name != "GET /v1/me" else set())
    wanted |= {"413"} if "requestBody" in operation else set()
    assert wanted <= operation["responses"].keys()
    for status, response in operation["responses"].items():
        if status >= "400":
            assert response["content"] == {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
            }


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_an_operation_tells_what_it_answers(name: str, operation: dict[str, Any]) -> None:
    """Every success has a content type; JSON has a schema that says something."""
    good = {status: response for status, response in operation["responses"].items() if status < "300"}
    assert good
    for status, response in good.items():
        assert ("content" in response) == (status != "204")
        for kind, content in response.get("content", {}).items():
            assert kind != "application/json" or content["schema"], name


def test_problem_statuses_are_those_of_the_codes() -> None:
    """No operation promises a status that no code has."""
    told = {int(status) for _, operation in OPERATIONS for status in operation["responses"] if status >= "400"}
    assert told <= {code.status for code in CODES.values()}


def test_every_reference_leads_somewhere() -> None:
    """The document is whole by itself."""
    text = document()
    schemas = DOCUMENT["components"]["schemas"]
    named = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named == set(schemas)


def test_the_base_part_need_not_generate_it() -> None:
    """The command that writes the other documents knows no service."""
    texts = [path.read_text("utf-8") for path in Path(ROOT / "toolbus" / "documents").glob("*.py")]
    services = ("toolbus_dispatcher", "toolbus_approvals", "toolbus_integrations")
    assert not any(f"{verb} {name}" in text for text in texts for name in services for verb in ("import", "from"))
