"""Everything that `toolbus up` runs, started once for the tests in this folder."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.integration.http.system import until
from toolbus import Client

TOOLBUS = [sys.executable, "-m", "toolbus"]
YAML = """\
name: look
description: Looks something up
api_call:
  method: GET
  url: "{url}/{{path}}"
  params_schema: {{type: object, properties: {{path: {{type: string}}, n: {{type: integer}}}}, required: [path]}}
---
name: act
api_call:
  method: POST
  url: "{url}/{{path}}"
  params_schema: {{type: object, properties: {{path: {{type: string}}}}, required: [path]}}
timeout_s: 0.5
"""


class Target(BaseHTTPRequestHandler):
    """Answers with the path; `/bad` with 500, `/silent` not before the test ends."""

    ended = threading.Event()

    def do_GET(self) -> None:
        """Answer."""
        if "silent" in self.path:
            self.ended.wait(60)
        told = json.dumps({"path": self.path}).encode()
        self.send_response(500 if "bad" in self.path else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_POST = do_GET  # noqa: N815 - the library's name

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="package")
def target() -> Iterator[str]:
    """The address of a target."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    Target.ended.set()
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory, target: str) -> Iterator[Path]:
    """A folder in which `toolbus up` runs, with two tools applied by the command line."""
    found = tmp_path_factory.mktemp("up")
    (found / "tools.yaml").write_text(YAML.format(url=target))
    command = [*TOOLBUS, "up", "--port", "0", "--nats-port", "0", "--allow-egress", "127.0.0.0/8"]
    process = subprocess.Popen(command, cwd=found, stderr=subprocess.PIPE, env=environment(), text=True)
    assert process.stderr is not None
    try:
        said = "".join(iter(lambda: _next_line(process), "Stop with Ctrl-C.\n"))
        assert "Toolbus is ready" in said
        done = run(found, "tools", "apply", "tools.yaml")
        assert done.returncode == 0, done.stderr
        until(lambda: len(run(found, "tools", "ls", "-o", "jsonl").stdout.splitlines()) == YAML.count("name: "))
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(30)
        process.stderr.close()
    assert code == 0


def _next_line(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line, "toolbus up ended before it was ready"
    return line


def environment() -> dict[str, str]:
    """What a process starts with: nothing that names another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOOLBUS_")}


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command line in the folder, where it finds the server by itself."""
    command = [*TOOLBUS, *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


@pytest.fixture
def bus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client that found the server by what `toolbus up` left."""
    for name in ("TOOLBUS_URL", "TOOLBUS_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    with Client() as client:
        yield client
