"""A provider that somebody else wrote: built as a wheel, installed with ours where nothing else is, and called."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.message import Message
from importlib import metadata
from pathlib import Path

import httpx
import pytest
from pytest_httpserver import HTTPServer

from tests.installed import needed
from tests.nats_fixtures import until
from tests.ports import free_port
from tests.source import ROOT

EXAMPLE = ROOT / "examples" / "provider_package"
CARD = "card-of-ana-4711"


def build(source: Path, folder: Path) -> Path:
    """The wheel of a source tree."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return max(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime_ns)


def metadata_of(wheel: Path) -> Message:
    """What a wheel says of itself."""
    with zipfile.ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(opened.read(name))


def link(name: str, environment: Path) -> None:
    """What a distribution installed here is, and no other, is found in the environment too."""
    here = Path(sysconfig.get_path("purelib"))
    there = next((environment / "lib").glob("python*/site-packages"))
    for file in metadata.files(name) or ():
        part = file if file.parts[0] == ".." else Path(file.parts[0])
        linked = there / part
        if (here / part).exists() and not linked.exists():
            linked.parent.mkdir(parents=True, exist_ok=True)
            linked.symlink_to((here / part).resolve())


def environment(folder: Path, wheels: Sequence[Path], extras: Sequence[str]) -> Path:
    """
    The interpreter of an environment with these wheels, and with what they say that they need, in the locked versions.

    Nothing else is in it: what a wheel imports and does not name is missing there.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", str(python)]
    done = subprocess.run([*command, *wheels], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    asked = [text for wheel in wheels for text in metadata_of(wheel).get_all("Requires-Dist", [])]
    for name in needed(asked, extras) - {"toolbus"}:
        link(name, folder)
    return python


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Ours, and that of the example."""
    folder = tmp_path_factory.mktemp("wheels")
    example = folder / "source"
    shutil.copytree(EXAMPLE, example, ignore=shutil.ignore_patterns("__pycache__", "dist"))
    return build(ROOT, folder / "ours"), build(example, folder / "theirs")


@pytest.fixture(scope="module")
def python(wheels: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with both wheels, as a server has it: ours with what ready tools need."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    return environment(folder, wheels, ("server", "integrations"))


@pytest.fixture(scope="module")
def bare(wheels: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with both wheels, ours without any extra."""
    return environment(tmp_path_factory.mktemp("bare") / "venv", wheels, ())


@asynccontextmanager
async def up(python: Path, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """`toolbus up` of that environment, and HTTP with its first key."""
    ports = ("--port", str(free_port()), "--nats-port", str(free_port()))
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(str(python), "-P", "-m", "toolbus", "up", "--data", str(folder / "data"), *ports),
            *("--allow-egress", "127.0.0.0/8"),
            env={
                **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
                "TOOLBUS_SHUTDOWN_GRACE_S": "1",
            },
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    told = folder / "log"
    try:
        await until(lambda: process.returncode is not None or "Toolbus is ready" in told.read_text(), within_s=60)
        assert process.returncode is None, told.read_text()
        credentials = json.loads((folder / "data" / "credentials.json").read_text())
        headers = {"Authorization": f"Bearer {credentials['api_key']}"}
        async with httpx.AsyncClient(
            base_url=credentials["url"], headers=headers, timeout=60, trust_env=False
        ) as client:
            yield client
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)
        await process.wait()


def test_both_come_from_their_wheels(python: Path, tmp_path: Path) -> None:
    """And the provider imports of Toolbus what is public, and no service."""
    told = subprocess.run(
        [python, "-c", "import sys, toolbus, library_provider; print(toolbus.__file__); print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout.splitlines()
    assert Path(told[0]).is_relative_to(python.parent.parent)
    roots = {name.partition(".")[0] for name in told[1].split()}
    assert {name for name in roots if name.startswith("toolbus")} == {"toolbus", "toolbus_contracts"}


def test_what_a_client_needs_is_named_in_the_wheel(bare: Path, tmp_path: Path) -> None:
    """Without any extra: the client, a provider and the command line are imported; what a server lacks is said."""
    imported = "import toolbus, toolbus.provider, toolbus.cli.app, library_provider, sys; print(*sys.modules)"
    told = subprocess.run([bare, "-c", imported], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert not {"fastapi", "sqlalchemy", "nats", "mcp"} & set(told.stdout.split())
    shown = subprocess.run([bare, "-m", "toolbus", "--help"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    refused = subprocess.run([bare, "-m", "toolbus", "up"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert refused.returncode != 0
    assert 'pip install "toolbus[server]"' in refused.stdout + refused.stderr


@pytest.mark.timeout(180)
async def test_every_provider_is_there_or_names_its_extra(python: Path, tmp_path: Path) -> None:
    """With what the extras `server` and `integrations` bring; those of others are missing, and say which."""
    async with up(python, tmp_path) as http:
        views = (await http.get("/v1/integrations")).json()["items"]
    missing = {
        view["provider"]: view["fault"]["message"].partition("pip install ")[2] for view in views if view["fault"]
    }
    assert missing == {"ffmpeg": '"toolbus[media]"', "remote_browser": '"toolbus[browser]"'}
    assert {"library", "mcp", "email", "google_sheets"} <= {view["provider"] for view in views}


@pytest.mark.timeout(180)
async def test_it_is_on_the_shelf_and_is_called(python: Path, tmp_path: Path, httpserver: HTTPServer) -> None:
    """Listed with its package, defined with a secret, called; and what it says of a failure is the outcome."""
    card = {"x-card": CARD}
    httpserver.expect_request("/search", query_string={"q": "whales"}, headers=card).respond_with_json(
        {"titles": ["Moby-Dick"]}
    )
    httpserver.expect_request("/loans", method="POST", headers=card).respond_with_json({}, status=409)
    async with up(python, tmp_path) as http:
        view = (await http.get("/v1/integrations/library")).json()
        assert (view["package"], view["version"], view["fault"]) == ("library-provider", "1.0", None)
        stored = await http.put("/v1/secrets/card", json={"value": CARD})
        assert stored.is_success, stored.text
        setup = {"card": "secret://card", "base_url": f"http://127.0.0.1:{httpserver.port}"}
        for method in ("search", "lend"):
            section = {"provider": "library", "method": method, "setup": setup}
            answer = await http.put(f"/v1/tools/{method}", json={"name": method, "integration": section})
            assert answer.is_success, answer.text
        found = await http.post("/v1/calls?wait_s=30", json={"tool": "search", "arguments": {"query": "whales"}})
        assert found.json()["output"] == {"titles": ["Moby-Dick"]}, found.text
        lent = await http.post("/v1/calls?wait_s=30", json={"tool": "lend", "arguments": {"title": "Moby-Dick"}})
        error = lent.json()["error"]
        assert (error["code"], error["effect_happened"]) == ("provider_failed", "no"), lent.text
        assert error["message"] == "Moby-Dick is lent to somebody else"
    assert CARD not in (tmp_path / "log").read_text()
