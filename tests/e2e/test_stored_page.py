"""docs/stored.md does what it says: its commands are run as they stand there, in one shell, on a `toolbus up`."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from tests.e2e.nursery import REPOSITORY
from tests.e2e.test_readme import BLOCK
from tests.ports import free_port
from toolbus_contracts.stored import LEVELS, MAX_STORED_CHARS

PAGE = (REPOSITORY / "docs" / "stored.md").read_text()
MARK = "--- next ---"


def commands() -> list[str]:
    """Every command of the page behind the one that starts everything."""
    blocks = [text for language, text in BLOCK.findall(PAGE) if language == "console"]
    found = [one.strip() for block in blocks for one in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert found[0].startswith(".venv/bin/toolbus up")
    return found[1:]


@pytest.mark.timeout(300)
def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    """What is stored wins over what the call says; what was removed is not listed any more."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLBUS_")}
    (tmp_path / ".venv").symlink_to(sys.prefix)
    copytree(REPOSITORY / "examples", tmp_path / "examples")
    up = [".venv/bin/toolbus", "up", "--port", str(free_port()), "--nats-port", "0"]
    server = subprocess.Popen(up, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    script = "".join(f"{one}\necho '{MARK}'\n" for one in commands())
    try:
        assert "is ready" in server.stderr.readline()
        command = ["/bin/bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(zip(commands(), done.stdout.split(f"{MARK}\n"), strict=False))
    called = [json.loads(output) for command, output in told.items() if " call " in command]
    assert called == [{"said": "hello", "language": "de"}, {"said": "salut", "language": "fr"}]
    shown = next(output for command, output in told.items() if " tools ls " in command)
    assert [json.loads(line)["function"]["name"] for line in shown.splitlines()] == ["echo"]
    assert "user:ana" in told[".venv/bin/toolbus stored ls"]
    assert '"language": "de"' in told[".venv/bin/toolbus stored show echo"]


def test_the_page_names_every_level_and_the_bound() -> None:
    """The nearest first."""
    assert tuple(re.findall(r"^\| `([a-z]+)` \| ", PAGE, re.MULTILINE))[: len(LEVELS)] == LEVELS
    assert f"{MAX_STORED_CHARS:,}" in PAGE
