"""`toolbus secrets`: values come from files, stdin or unseen typing, and are never printed."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes
from tests.unit.client.secret_shapes import secret

PATH = "/v1/secrets/pay"


@pytest.fixture
def stored(httpserver: HTTPServer) -> HTTPServer:
    """A server that stores any secret."""
    httpserver.expect_request(PATH, method="PUT").respond_with_json(secret(generation=2))
    return httpserver


def sent(httpserver: HTTPServer) -> Any:
    """The body that was received last."""
    return json.loads(httpserver.log[-1][0].get_data())


@pytest.mark.parametrize(
    ("text", "value"),
    [("sk-1\n", "sk-1"), ("sk-1\r\n", "sk-1"), ("sk-1", "sk-1"), (" a\nb \n\n", " a\nb \n"), ("ü\n", "ü")],
)
def test_a_value_comes_from_stdin_or_a_file(
    stored: HTTPServer, cli: Cli, tmp_path: Path, *, text: str, value: str
) -> None:
    """One line end behind it is left out, and nothing else of it; it is not printed."""
    done = cli("secrets", "set", "pay", stdin=text)
    assert (done.code, done.out) == (0, "")
    assert "generation 2" in done.err
    assert sent(stored)["value"] == value
    path = tmp_path / "value"
    path.write_bytes(text.encode())
    done = cli(
        "secrets", "set", "pay", "--value-file", str(path), "--host", "*.example.com", "--tool", "a", "--tool", "b"
    )
    assert sent(stored) == {"value": value, "hosts": ["*.example.com"], "tools": ["a", "b"]}
    assert value not in done.out + done.err


def test_a_value_is_no_argument(stored: HTTPServer, cli: Cli) -> None:
    """Everybody on the machine can read those."""
    done = cli("secrets", "set", "pay", "sk-1")
    assert done.code == 2
    assert not stored.log


@pytest.mark.parametrize("content", [None, b"\xff"], ids=["missing", "no text"])
def test_a_file_that_cannot_be_read_is_a_usage_error(cli: Cli, tmp_path: Path, content: bytes | None) -> None:
    """Nothing is asked of the server."""
    path = tmp_path / "value"
    if content is not None:
        path.write_bytes(content)
    done = cli("secrets", "set", "pay", "--value-file", str(path))
    assert done.code == 2
    assert "cannot be read" in done.err


def test_a_value_that_is_typed_is_not_seen(stored: HTTPServer) -> None:
    """On a terminal it is asked for, without an echo."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TOOLBUS_URL": stored.url_for(""), "TOOLBUS_API_KEY": "tb_test"}
    command = [sys.executable, "-m", "toolbus", "secrets", "set", "pay"]
    process = subprocess.Popen(
        command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    drawn = os.read(ours, 1024)
    while b"Value: " not in drawn:  # the blank comes when nothing is echoed any more
        drawn += os.read(ours, 1024)
    os.write(ours, b"typed-unseen\n")
    try:
        while piece := os.read(ours, 1024):
            drawn += piece
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    assert process.wait(30) == 0
    assert sent(stored)["value"] == "typed-unseen"
    assert b"typed-unseen" not in drawn


def test_secrets_are_listed_with_what_they_are_bound_to(httpserver: HTTPServer, cli: Cli) -> None:
    """A secret that is bound to nothing says so."""
    listed = shapes.page(secret(), secret(name="free", hosts=[], tools=[]))
    httpserver.expect_request("/v1/secrets").respond_with_json(listed)
    bound, free = cli("secrets", "ls").out.splitlines()[1:]
    assert "api.example.com" in bound
    assert "refund" in bound
    assert free.count("any") == 2
    assert len(cli("secrets", "ls", "--all", "-o", "jsonl").lines()) == 2


def test_a_removal_is_told(httpserver: HTTPServer, cli: Cli) -> None:
    """By name, on stderr."""
    httpserver.expect_request(PATH, method="DELETE").respond_with_json(secret())
    done = cli("secrets", "rm", "pay")
    assert (done.code, done.out) == (0, "")
    assert "pay is removed" in done.err
