"""Large public OpenAPI documents become tools; a server that is made of the same document takes their calls."""

import os
from random import Random
from typing import Any

import pytest

from tests.integration.imports.calling import call_all, request_of
from tests.integration.imports.mocks import mock_of
from tests.integration.imports.specifications import ALL, PYTHON, Specification
from toolbus.importing.documents import read_document
from toolbus.importing.openapi import Left, Made, tools_of
from toolbus.importing.operations import operations_of
from toolbus_contracts.tools import ToolDefinition
from toolbus_dispatcher.core.resources import check_definition

# How many operations of each document are called; `all` takes every one (five minutes).
CALLED = os.environ.get("TOOLBUS_TEST_OPERATIONS", "60")
# In each document: how many operations became tools, and why the others did not.
FOUND = [
    ("blockfrost", 129, []),
    ("directus", 136, []),
    ("figma", 54, []),
    (
        "github",
        1222,
        ["a body of text/plain, text/x-markdown cannot be sent"],
    ),
    ("rclone", 100, ["a form whose keys are not all known cannot be sent"]),
]
# Requests that no server of the document may take: a tool, its arguments, and what is wrong with them.
OWN = {"owner": "a", "repo": "b"}
WRONG: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "github": [
        ("issues_create", {**OWN, "body": "text"}, "title"),
        ("issues_create", OWN, "MissingRequiredRequestBody"),
        ("issues_list-for-repo", {**OWN, "state": "ajar"}, "state"),
        ("issues_list-for-repo", {**OWN, "since": "yesterday"}, "since"),
        ("repos_list-commits", {**OWN, "page": "one"}, "page"),
    ],
    "blockfrost": [("get_blocks_hash_or_number", {"hash_or_number": "1"}, "Security")],
    "directus": [("getActivities", {"limit": 1}, "Security")],
    "figma": [("postWebhook", {"event_type": "NONE"}, "is not one of")],
    "rclone": [("operationsCopyfile", {"Prefer": "later"}, "Prefer")],
}
pytestmark = pytest.mark.skipif(
    not (PYTHON.exists() and all(one.path.exists() for one in ALL)), reason="`make specs` fetches the documents"
)


def made_of(specification: Specification, server: str | None = None) -> tuple[list[Made], list[Left]]:
    """What became a tool, and what was left."""
    document = read_document(str(specification.path))
    found = list(tools_of(document, operations_of(document), server=server or specification.server))
    return [one for one in found if isinstance(one, Made)], [one for one in found if isinstance(one, Left)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("specification", ALL, ids=lambda one: one.name)
def test_operations_become_tools_that_a_server_takes(specification: Specification) -> None:
    """Every definition passes the check of PUT; what is left has a body of text, or a form of any keys."""
    made, left = made_of(specification)
    for one in made:
        check_definition(ToolDefinition.model_validate(one.definition))
    assert len({one.operation.tool for one in made}) == len(made)
    assert (specification.name, len(made), sorted(one.reason for one in left)) in FOUND


@pytest.mark.timeout(900)
@pytest.mark.parametrize("specification", ALL, ids=lambda one: one.name)
def test_calls_are_taken_by_a_mock_of_the_same_document(specification: Specification) -> None:
    """With what must be given and with all that may be, each request passes a validator that is not ours."""
    with mock_of(specification) as mock:
        made, _ = made_of(specification, mock.url)
        wanted = len(made) if CALLED == "all" else min(int(CALLED), len(made))
        calls = call_all(Random(1).sample(made, wanted), mock)
    assert calls.refused == []
    assert calls.undrawable == []
    assert calls.taken == 2 * wanted


@pytest.mark.timeout(240)
@pytest.mark.parametrize("specification", ALL, ids=lambda one: one.name)
def test_the_mock_refuses_what_the_document_does_not_allow(specification: Specification) -> None:
    """So that being taken by it means something: missing and wrong values, formats, and credentials."""
    with mock_of(specification) as mock:
        made = {one.operation.tool: one.definition for one in made_of(specification, mock.url)[0]}
        for tool, arguments, told in WRONG[specification.name]:
            section = {key: part for key, part in made[tool]["api_call"].items() if key not in {"headers", "auth"}}
            definition = ToolDefinition.model_validate({**made[tool], "api_call": section})
            status, answer = mock.sent(request_of(definition, arguments))
            assert (status, told in answer) == (400, True), answer
