"""docs/secrets.md does what it says: its commands are run as they stand there, in one shell, on a `toolbus up`."""

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
from tests.e2e.test_readme import BLOCK, PORT, UP
from tests.ports import free_port
from toolbus_runtime.sealing import KeyRing

PAGE = (REPOSITORY / "docs" / "secrets.md").read_text()
MARK = "--- next ---"


def commands() -> list[str]:
    """Every command of the page behind the one that starts everything."""
    blocks = [text for language, text in BLOCK.findall(PAGE) if language == "console"]
    found = [one.strip() for block in blocks for one in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert found[0].startswith(UP)
    return found[1:]


def shell(script: str, folder: Path) -> dict[str, str]:
    """What a script printed on an installation of its own, by command; it has to succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLBUS_")}
    port = str(free_port())
    (folder / ".venv").symlink_to(sys.prefix)
    copytree(REPOSITORY / "examples", folder / "examples")
    example = folder / "examples" / "whoami.yaml"
    example.write_text(example.read_text().replace(PORT, port))
    up = [*UP.replace(PORT, port).split(), "--port", port, "--nats-port", "0"]
    server = subprocess.Popen(up, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        assert "is ready" in server.stderr.readline()
        command = ["/bin/bash", "-euo", "pipefail", "-c", script.replace(PORT, port)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "error" not in done.stderr
    assert "sk_live" not in done.stdout + done.stderr
    return dict(zip(commands(), done.stdout.split(f"{MARK}\n"), strict=False))


@pytest.mark.timeout(300)
def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    """Every one succeeds; the tool sends the secret, no command shows one, and a new master key holds at once."""
    again = ".venv/bin/toolbus secrets set own_key --value-file key\n.venv/bin/toolbus call whoami --wait 10\n"
    key = 'sed -n \'s/.*"api_key": "\\(.*\\)".*/\\1/p\' .toolbus/credentials.json > key\n'
    told = shell("".join(f"{one}\necho '{MARK}'\n" for one in commands()) + key + again, tmp_path)
    listed = next(output for command, output in told.items() if command.endswith("secrets ls"))
    assert "api.pay.example" in listed
    assert "refund" in listed
    called = next(output for command, output in told.items() if " call " in command)
    assert json.loads(called)["json"]["subject"] == "user:operator"
    assert next(one.id for one in KeyRing(path=tmp_path / ".toolbus" / "master.keys").all()) == "second"
    assert (tmp_path / ".toolbus" / "master.keys").stat().st_mode & 0o777 == 0o600
    secret = (tmp_path / "key").read_text().strip()
    beside = [path for path in (tmp_path / ".toolbus").rglob("*") if path.is_file() and path.name != "credentials.json"]
    assert beside
    assert not [path for path in beside if secret.encode() in path.read_bytes()]


def test_the_definition_on_the_page_is_that_of_the_example() -> None:
    """What is read there is what is applied."""
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    example = yaml.safe_load((REPOSITORY / "examples" / "whoami.yaml").read_text())
    assert yaml.safe_load(shown)["api_call"] == example["api_call"]
