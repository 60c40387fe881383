"""`toolbus up`, as people run it: stopped or killed, it finds everything again on its data folder."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.e2e.ledger import Ledger
from tests.e2e.nursery import REPOSITORY
from tests.e2e.target import Target
from tests.nats_fixtures import until
from tests.ports import free_port

OPEN = 20


class Up:
    """One `toolbus up` on a data folder, with its ports the same over restarts."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.ledger: Ledger | None = None
        self.process: asyncio.subprocess.Process | None = None
        self._log = folder.with_suffix(".log")
        ports = ("--port", str(free_port()), "--nats-port", str(free_port()))
        self._arguments = ["--data", str(folder), *ports, "--allow-egress", "127.0.0.0/8", *flags]

    @property
    def credentials(self) -> dict[str, str]:
        """What it left for clients."""
        found: dict[str, str] = json.loads((self.folder / "credentials.json").read_text())
        return found

    def client(self) -> httpx.AsyncClient:
        """HTTP with the first key."""
        headers = {"Authorization": f"Bearer {self.credentials['api_key']}"}
        return httpx.AsyncClient(base_url=self.credentials["url"], headers=headers, timeout=20, trust_env=False)

    async def start(self) -> None:
        """Everything is ready."""
        environment = {**os.environ, "TOOLBUS_SHUTDOWN_GRACE_S": "1"}
        with self._log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "toolbus", "up", *self._arguments),
                env=environment,
                cwd=REPOSITORY,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        count = self._log.read_text().count("Toolbus is ready")
        process = self.process
        await until(
            lambda: process.returncode is not None or self._log.read_text().count("Toolbus is ready") > count,
            within_s=90,
        )
        assert process.returncode is None, self._log.read_text()

    async def end(self, number: signal.Signals) -> None:
        """The whole process group has this signal, and the process has ended."""
        assert self.process is not None
        if self.process.returncode is None:
            os.killpg(self.process.pid, number)
        await self.process.wait()

    def leftovers(self) -> list[psutil.Process]:
        """Processes of this installation that still run."""
        found = []
        for process in psutil.process_iter(["cmdline", "environ", "status"]):
            told = " ".join(process.info["cmdline"] or []) + str((process.info["environ"] or {}).values())
            if str(self.folder) in told and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found


@asynccontextmanager
async def running(folder: Path, *flags: str) -> AsyncIterator[Up]:
    """A `toolbus up` that runs, and of which nothing is left afterwards."""
    up = Up(folder, *flags)
    await up.start()
    try:
        yield up
    finally:
        await up.end(signal.SIGTERM)
        for process in up.leftovers():
            process.kill()


def tool(target: Target, name: str, path: str = "/items/{name}") -> dict[str, Any]:
    """The definition of a GET tool with one argument."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {"name": name, "api_call": {"method": "GET", "url": target.url + path, "params_schema": schema}}


async def prepared(up: Up, target: Target) -> tuple[str, list[str]]:
    """A tool, a second key, an execution, calls that ended and calls that are open: the key and all call ids."""
    async with up.client() as http:
        assert (await http.put("/v1/tools/look", json=tool(target, "look"))).is_success
        made = await http.post("/v1/keys", json={"subject": "service:other", "scopes": ["read", "submit"]})
        execution = (await http.post("/v1/executions", json={"labels": {"of": "this test"}})).json()["id"]
        bodies = [
            {"tool": "look", "arguments": {"name": f"n{number}"}, "execution_id": execution} for number in range(OPEN)
        ]
        ids = [(await http.post("/v1/calls?wait_s=20", json=body)).json()["id"] for body in bodies[:3]]
        target.hold_after(0)
        ids += [(await http.post("/v1/calls", json=body)).json()["id"] for body in bodies[3:]]
        await until(lambda: len(target.journal) > len(bodies) // 2)
        return made.json()["token"], ids


async def check(up: Up, key: str, ids: list[str]) -> None:
    """Everything is there again, with both keys, and every call has ended."""
    ledger = Ledger(f"sqlite:///{up.folder / 'toolbus.db'}")
    await ledger.until_ended(ids)
    assert {ledger.end_of(call_id) for call_id in ids} == {"succeeded"}
    await ledger.assert_whole()
    await ledger.store.close()
    async with up.client() as http:
        for token in (up.credentials["api_key"], key):
            answer = await http.get("/v1/tools/look", headers={"Authorization": f"Bearer {token}"})
            assert (answer.status_code, answer.json()["version"]) == (200, 1)

        async def are_listed() -> bool:
            listed = (await http.get("/v1/calls", params={"status": "succeeded", "limit": 100})).json()["items"]
            return {call["id"] for call in listed} == set(ids)

        await until(are_listed)
        (execution,) = [
            found
            for found in (await http.get("/v1/executions")).json()["items"]
            if found["labels"] == {"of": "this test"}
        ]
        assert execution["calls"] == {"succeeded": len(ids)}


@pytest.mark.parametrize("flags", [(), ("--processes",)], ids=["one process", "processes"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
@pytest.mark.timeout(150)
async def test_everything_is_found_again(tmp_path: Path, how: signal.Signals, flags: tuple[str, ...]) -> None:
    """Stopped, or its whole process group killed, with calls open: tools, keys, executions and calls are there."""
    async with Target() as target, running(tmp_path / "data", *flags) as up:
        key, ids = await prepared(up, target)
        before = up.credentials
        await up.end(how)
        target.release()
        await up.start()
        assert up.credentials == before
        await check(up, key, ids)
        await up.end(signal.SIGTERM)
        await until(lambda: not up.leftovers())


async def refused(*flags: str) -> str:
    """What a `toolbus up` says that does not start."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "toolbus", "up", *flags),
        cwd=REPOSITORY,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await process.communicate()
    assert process.returncode == 69
    return told.decode()


@pytest.mark.timeout(120)
async def test_a_second_one_says_what_is_taken_and_leaves_the_first_alone(tmp_path: Path) -> None:
    """The data folder, the port of HTTP, the port of NATS: each is named, and the first goes on."""
    async with Target() as target, running(tmp_path / "data") as up:
        http, nats = (up.credentials[name].rpartition(":")[2] for name in ("url", "nats_url"))
        same_folder = await refused("--data", str(up.folder), "--port", "0", "--nats-port", "0")
        assert f"another one runs on {up.folder}; stop it" in same_folder
        told = await refused("--data", str(tmp_path / "other"), "--port", http, "--nats-port", "0")
        assert f":{http}: Address already in use" in told
        assert "--port" in told
        told = await refused("--data", str(tmp_path / "other"), "--port", "0", "--nats-port", nats)
        assert f"NATS cannot listen on 127.0.0.1:{nats}" in told
        assert "--nats-port" in told
        async with up.client() as client:
            assert (await client.put("/v1/tools/look", json=tool(target, "look"))).is_success
            body = {"tool": "look", "arguments": {"name": "a"}}
            call = (await client.post("/v1/calls", params={"wait_s": 20}, json=body)).json()
            assert call["status"] == "succeeded"
