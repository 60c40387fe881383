"""README.md does what it says: its commands and its snippet are run as they stand there, on free ports."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from tests.e2e.nursery import REPOSITORY
from tests.ports import free_port

README = (REPOSITORY / "README.md").read_text()
FIRST_CALL = README.partition("\n## A first call\n")[2].partition("\n## ")[0]
UP = ".venv/bin/toolbus up --allow-egress 127.0.0.1:8700"
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = "8700"
DOCUMENTS = sorted({*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("*/README.md")})


def blocks(language: str) -> list[str]:
    """The blocks of this language in the section."""
    return [text for found, text in BLOCK.findall(FIRST_CALL) if found == language]


def commands() -> list[tuple[str, str]]:
    """Every command of the section after `toolbus up`, with the output that is shown for it, if any."""
    told = [one for block in blocks("console") for one in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    found = [one.partition("\n") for one in told]
    assert found[0][0] == UP
    return [(command, shown.strip()) for command, _, shown in found[1:]]


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Nothing that names another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOOLBUS_")}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """A folder that looks like a checkout after `make setup`, where `toolbus up` runs; and the port it took."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".venv").symlink_to(sys.prefix)
    copytree(REPOSITORY / "examples", folder / "examples")
    port = str(free_port())
    command = [*UP.replace(PORT, port).split(), "--port", port, "--nats-port", "0"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        ready = process.stderr.readline()
        assert ready.replace(port, PORT) in blocks("console")[0]
        version = folder / "examples" / "version.yaml"
        version.write_text(version.read_text().replace(PORT, port))
        yield folder, port
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.timeout(300)
def test_the_commands_of_the_first_call_work(checkout: tuple[Path, str], environment: dict[str, str]) -> None:
    """One shell, each command in turn; every one succeeds and says something, and what is shown is what comes."""
    folder, port = checkout
    mark = "--- next ---"
    script = "".join(f"{command}\necho '{mark}'\n" for command, _ in commands()).replace(PORT, port)
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "error" not in done.stderr
    told = done.stdout.split(f"{mark}\n")[:-1]
    assert len(told) == len(commands()) > 1
    for (command, shown), output in zip(commands(), told, strict=True):
        assert re.match(r"[A-Z]+=", command) or output.strip(), command
        assert shown in output, command


def test_the_snippet_works(checkout: tuple[Path, str], environment: dict[str, str]) -> None:
    """The Python of the section prints the output of a call; its tool is the one that the commands register."""
    folder, _ = checkout
    (snippet,) = blocks("python")
    told = ""
    for command in (
        [".venv/bin/toolbus", "tools", "apply", "examples/version.yaml"],
        [".venv/bin/python", "-c", snippet],
    ):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        told = done.stdout
    assert "'version': " in told


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(document: Path) -> None:
    """To a file or folder that is there."""
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text())
    assert not [link for link in links if "://" not in link and not (document.parent / link).exists()]
