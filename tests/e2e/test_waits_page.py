"""docs/waits.md does what it says: its commands are run as they stand there, in one shell, on a `toolbus up`."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from tests.e2e.nursery import REPOSITORY
from tests.e2e.test_readme import BLOCK, PORT, UP
from tests.ports import free_port

PAGE = (REPOSITORY / "docs" / "waits.md").read_text()
MARK = "--- next ---"
# A person is slower than this shell: what stands still is in the lists when they look.
LOOK = f"""
key=$(sed -n 's/.*"api_key": "\\(.*\\)".*/\\1/p' .toolbus/credentials.json)
ids() {{ curl -s -H "Authorization: Bearer $key" "http://127.0.0.1:{PORT}/v1/$1" | grep -o '"id":"'"$2" | wc -l; }}
look() {{
  for _ in $(seq 500); do
    if [ "$(ids 'waits?status=open' wait_)" = "$(ids 'calls?status=waiting' call_)" ]; then return; fi
  done
  return 1
}}
"""


def commands() -> list[str]:
    """Every command of the page."""
    blocks = [text for language, text in BLOCK.findall(PAGE) if language == "console"]
    return [one.strip() for block in blocks for one in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def speaks(command: str) -> bool:
    """Whether something is to be said: what only names what was found says nothing."""
    return re.match(r"[A-Z]+=\$\(", command) is None


@pytest.mark.timeout(400)
def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    """Every one succeeds and says something; approved, granted, told and carried out, four calls have succeeded."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLBUS_")}
    port = str(free_port())
    (tmp_path / ".venv").symlink_to(sys.prefix)
    copytree(REPOSITORY / "examples", tmp_path / "examples")
    example = tmp_path / "examples" / "version_with_people.yaml"
    example.write_text(example.read_text().replace(PORT, port))
    script = (LOOK + "".join(f"{one}\necho '{MARK}'\nlook\n" for one in commands())).replace(PORT, port)
    script += "ids 'calls?status=succeeded' call_\n"
    up = [*UP.replace(PORT, port).split(), "--port", port, "--nats-port", "0"]
    server = subprocess.Popen(up, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        assert "is ready" in server.stderr.readline()
        shell = ["/bin/bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "error" not in done.stderr
    *told, succeeded = done.stdout.split(f"{MARK}\n")
    assert len(told) == len(commands()) > 1
    for command, output in zip(commands(), told, strict=True):
        assert not speaks(command) or output.strip() or re.search(r" (rm|revoke) ", command), command
    assert succeeded.strip() == "4"
