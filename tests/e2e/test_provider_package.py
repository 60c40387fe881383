"""A provider that somebody else wrote: built as a wheel, installed with ours where nothing else is, and called."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from pytest_httpserver import HTTPServer

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


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with both wheels, and with what ours needs from the locked one."""
    folder = tmp_path_factory.mktemp("environment")
    example = folder / "source"
    shutil.copytree(EXAMPLE, example, ignore=shutil.ignore_patterns("__pycache__", "dist"))
    wheels = [build(ROOT, folder / "ours"), build(example, folder / "theirs")]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    found = folder / "venv" / "bin" / "python"
    command = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", str(found)]
    done = subprocess.run([*command, *wheels], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    # Their versions are the locked ones; a path file is read, those in the folder it names are not: ours is not there.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return found


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
