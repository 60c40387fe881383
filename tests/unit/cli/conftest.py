"""The command line in this process, speaking to the test's server."""

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from toolbus.cli.app import run


@dataclass(frozen=True)
class Result:
    """What a command came to."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Result]


@pytest.fixture
def cli(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command; standard output is no terminal."""
    monkeypatch.setenv("TOOLBUS_URL", httpserver.url_for(""))
    monkeypatch.setenv("TOOLBUS_API_KEY", "tb_test")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*arguments: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = run(arguments)
        told = capsys.readouterr()
        return Result(code, told.out, told.err)

    return call


@pytest.fixture
def received(httpserver: HTTPServer) -> Callable[[], list[str]]:
    """The requests that the server received, as method and path."""
    return lambda: [f"{request.method} {request.path}" for request, _ in httpserver.log]
