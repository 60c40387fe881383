"""Tools of documents that others wrote, through a real `toolbus up`: imported, applied, called."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.e2e.nursery import REPOSITORY
from tests.e2e.target import Target
from tests.e2e.test_up import Up, running
from tests.integration.imports.calling import arguments_for
from tests.integration.imports.mocks import mock_of
from tests.integration.imports.specifications import ALL, PYTHON
from toolbus.importing.documents import read_document
from toolbus.importing.openapi import Made, tools_of
from toolbus.importing.operations import operations_of

BLOCKFROST = next(one for one in ALL if one.name == "blockfrost")
CALLS = 20


async def toolbus(up: Up, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """Exit code, output and messages of a command."""
    own = up.credentials
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "toolbus", *arguments),
        env={**os.environ, "TOOLBUS_URL": own["url"], "TOOLBUS_API_KEY": own["api_key"]},
        cwd=REPOSITORY,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(stdin.encode())
    return process.returncode or 0, out.decode(), err.decode()


async def called(http: httpx.AsyncClient, tool: str, arguments: Any) -> dict[str, Any]:
    """How a call ended, or where it waits."""
    answer = await http.post("/v1/calls", params={"wait_s": 20}, json={"tool": tool, "arguments": arguments})
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.timeout(120)
async def test_the_interface_of_toolbus_itself_becomes_tools(tmp_path: Path) -> None:
    """`docs/openapi.json` is imported; its tools call the server that runs them, with a key that is a secret."""
    async with running(tmp_path / "data") as up, up.client() as http:
        document = str(REPOSITORY / "docs" / "openapi.json")
        options = ("--server", up.credentials["url"], "--prefix", "own_", "-o", "jsonl")
        code, out, err = await toolbus(up, "tools", "import", "openapi", document, *options)
        rows = [json.loads(line) for line in out.splitlines()]
        tools = {(row["method"], row["path"]): row["tool"] for row in rows if row["tool"]}
        assert (code, {row["outcome"] for row in rows if row["tool"]}) == (0, {"created"})
        assert "secret://own_key" in err
        again = await toolbus(up, "tools", "import", "openapi", document, *options)
        assert {json.loads(line)["outcome"] for line in again[1].splitlines()} <= {"unchanged", "skipped"}

        code, _, err = await toolbus(up, "secrets", "set", "own_key", stdin=up.credentials["api_key"])
        assert code == 0, err
        shown = await called(http, tools["GET", "/v1/tools/{name}"], {"name": tools["GET", "/v1/tools"]})
        assert (shown["status"], shown["output"]["json"]["name"]) == ("succeeded", tools["GET", "/v1/tools"])
        started = await called(http, tools["POST", "/v1/executions"], {"labels": {"of": "this test"}})
        assert (started["status"], started["output"]["json"]["labels"]) == ("succeeded", {"of": "this test"})


@pytest.mark.timeout(180)
@pytest.mark.skipif(not (PYTHON.exists() and BLOCKFROST.path.exists()), reason="`make specs` fetches the document")
async def test_calls_of_imported_tools_are_taken_by_a_mock_of_the_document(tmp_path: Path) -> None:
    """Twenty tools of a public document, with arguments drawn from their schemas, through all of Toolbus."""
    with mock_of(BLOCKFROST) as mock:
        async with running(tmp_path / "data") as up, up.client() as http:
            command = ("tools", "import", "openapi", str(BLOCKFROST.path), "--server", mock.url)
            code, _, err = await toolbus(up, *command)
            assert (code, "secret://project_id" in err) == (0, True), err
            code, _, err = await toolbus(up, "secrets", "set", "project_id", stdin="key-of-a-project")
            assert code == 0, err
            document = read_document(str(BLOCKFROST.path))
            found = tools_of(document, operations_of(document), server=mock.url)
            tools = [one for one in found if isinstance(one, Made)][:: 126 // CALLS][:CALLS]
            calls = [
                await called(http, one.operation.tool, arguments_for(one, seed=number, is_full=True))
                for number, one in enumerate(tools)
            ]
    assert [(call["status"], call["error"]) for call in calls] == [("succeeded", None)] * CALLS


SHOP = """
openapi: 3.1.0
paths:
  /charges:
    post:
      operationId: charge
      parameters:
        - {name: expand, in: query, style: deepObject, explode: true, schema: {type: array, items: {type: string}}}
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string}}}
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              required: [amount]
              properties:
                amount: {type: integer}
                metadata: {type: object, additionalProperties: {type: string}}
                lines: {type: array, items: {type: object, properties: {sku: {type: string}}}}
            encoding:
              metadata: {style: deepObject, explode: true}
              lines: {style: deepObject, explode: true}
  /files:
    post:
      operationId: upload
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              required: [file, about]
              properties: {file: {type: string, format: binary}, about: {type: object}, purpose: {type: string}}
"""
CHARGED = {
    "amount": ["1200"],
    "metadata[order id]": ["7 & 8"],
    "lines[0][sku]": ["a"],
    "lines[1][sku]": ["b"],
}


@pytest.mark.timeout(120)
async def test_forms_arrive_as_their_document_says(tmp_path: Path, httpserver: HTTPServer) -> None:
    """Styles, objects in forms, and files: a server that is not ours reads out of them what the call gave."""
    forms: list[dict[str, list[str]]] = []
    files: list[tuple[str | None, str, bytes]] = []

    def take(request: Request) -> Response:
        forms.append(request.form.to_dict(flat=False))
        files.extend((file.filename, file.mimetype, file.read()) for file in request.files.values())
        request.close()
        return Response("{}", content_type="application/json")

    for path in ("/charges", "/files"):
        httpserver.expect_request(path, method="POST").respond_with_handler(take)
    (tmp_path / "shop.yaml").write_text(SHOP)
    async with running(tmp_path / "data") as up, up.client() as http:
        server = f"http://127.0.0.1:{httpserver.port}"
        code, _, err = await toolbus(up, "tools", "import", "openapi", str(tmp_path / "shop.yaml"), "--server", server)
        assert code == 0, err
        arguments = {
            "amount": 1200,
            "metadata": {"order id": "7 & 8"},
            "lines": [{"sku": "a"}, {"sku": "b"}],
            "expand": ["customer"],
            "fields": ["id", "a,b"],
        }
        assert (await called(http, "charge", arguments))["status"] == "succeeded"
        about = {"content": "aGVsbG8=", "filename": "hello.txt", "content_type": "text/plain"}
        uploaded = await called(http, "upload", {"file": about, "about": {"k": [1]}, "purpose": "ü"})
        assert uploaded["status"] == "succeeded", uploaded
    assert httpserver.log[0][0].query_string == b"expand%5B0%5D=customer&fields=id,a%2Cb"
    assert forms == [CHARGED, {"about": ['{"k":[1]}'], "purpose": ["ü"]}]
    assert files == [("hello.txt", "text/plain", b"hello")]


def task(target: Target) -> str:
    """A task in the published format, whose tools are of three types."""
    return yaml.safe_dump(
        {
            "name": "Look and tell",
            "input_schema": {"type": "object"},
            "tools": [
                {
                    "name": "look",
                    "type": "api_call",
                    "api_call": {"method": "GET", "url": f"{target.url}/items/{{name}}"},
                },
                {"name": "add", "type": "api_call", "spec": {"method": "POST", "url": f"{target.url}/items/new"}},
                {"name": "echo", "type": "integration", "integration": {"provider": "dummy"}},
                {
                    "type": "function",
                    "function": {"name": "tell", "parameters": {"type": "object", "properties": {"text": {}}}},
                },
            ],
            "main": [{"tool": "look", "arguments": {"name": "apple"}}],
        },
        sort_keys=False,
    )


@pytest.mark.timeout(120)
async def test_the_tools_of_a_published_task_are_applied_and_called(tmp_path: Path) -> None:
    """The document loads as it is; its api_calls and its integration succeed, its function waits for a client."""
    async with Target() as target, running(tmp_path / "data") as up, up.client() as http:
        (tmp_path / "task.yaml").write_text(task(target))
        code, out, err = await toolbus(up, "tools", "apply", str(tmp_path / "task.yaml"))
        assert code == 0, err
        assert [line.split("\t")[0] for line in out.splitlines()] == ["TOOL", "look", "add", "echo", "tell"]
        assert [line.rpartition(" /")[2] for line in err.splitlines()] == [
            f"{key}: not used yet" for key in ("name", "input_schema", "main")
        ]
        assert (await called(http, "look", {"name": "apple"}))["status"] == "succeeded"
        assert (await called(http, "add", {"json": {"a": 1}}))["status"] == "succeeded"
        assert (await called(http, "echo", {"text": "hello"}))["status"] == "succeeded"
        waiting = await http.post("/v1/calls", json={"tool": "tell", "arguments": {"text": "hello"}})
        assert waiting.json()["status"] in {"queued", "waiting"}
        assert target.counts == {"GET /items/apple": 1, "POST /items/new": 1}
