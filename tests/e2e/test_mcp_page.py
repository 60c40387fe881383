"""docs/mcp.md does what it says: its commands are run as they stand there, in one shell, on a `toolbus up`."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
import yaml

from tests.e2e.nursery import REPOSITORY
from tests.e2e.test_readme import BLOCK, PORT
from tests.ports import free_port
from toolbus_contracts.mcp import PutMcpServer
from toolbus_contracts.tools import ToolDefinition
from toolbus_integrations.core.mcp_commands import parse_allowed

PAGE = (REPOSITORY / "docs" / "mcp.md").read_text()
SERVER_PORT = "8701"
START = ".venv/bin/toolbus up --allow-egress 127.0.0.1:8701"
MARK = "--- next ---"
TIDY = "trap 'kill $(jobs -p) || true' EXIT\n"


def commands() -> list[str]:
    """Every command of the page behind the one that starts everything."""
    blocks = [text for language, text in BLOCK.findall(PAGE) if language == "console"]
    found = [one.strip() for block in blocks for one in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert found[0].startswith(START)
    return found[1:]


@pytest.mark.timeout(300)
def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    """A server is put, its tools are imported and called."""
    port, server_port = str(free_port()), str(free_port())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLBUS_")}
    (tmp_path / ".venv").symlink_to(sys.prefix)
    copytree(REPOSITORY / "examples", tmp_path / "examples")
    script = TIDY + "".join(f"{one}\necho '{MARK}'\n" for one in commands())
    script = script.replace(PORT, port).replace(SERVER_PORT, server_port)
    up = [*START.replace(SERVER_PORT, server_port).split(), "--port", port, "--nats-port", "0"]
    server = subprocess.Popen(up, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        assert "is ready" in server.stderr.readline()
        command = ["/bin/bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr
    _, _, listed, dry, imported, added, found, _ = done.stdout.split(f"{MARK}\n")
    assert f"http://127.0.0.1:{server_port}/mcp" in listed
    assert [one["name"] for one in yaml.safe_load_all(dry)] == ["notes_add_note", "notes_find_notes"]
    assert imported.count("created") == 2
    assert json.loads(added)["structured"] == {"result": 1}
    assert json.loads(found)["structured"] == {"result": ["milk"]}


def test_what_the_page_shows_can_be_written() -> None:
    """The definition, the list of commands, and every field of a server."""
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert ToolDefinition.model_validate(yaml.safe_load(shown)).mcp is not None
    (listed,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert parse_allowed(listed)[0].env == {"FILES_TOKEN"}
    first = (row.split("|")[1] for row in PAGE.splitlines() if row.startswith("| `"))
    assert {name for cell in first for name in re.findall(r"`(\w+)`", cell)} == set(PutMcpServer.model_fields)
