"""A message that nobody can read, from its publication to the operator's terminal."""

import asyncio
import json
from pathlib import Path

from tests.e2e.up.conftest import run
from tests.nats_fixtures import until
from toolbus import Client
from toolbus_runtime.bus.connection import Bus


async def publish(told: dict[str, str], body: bytes) -> None:
    """As a program of the tenant does."""
    connection = Bus(told["nats_url"], user=told["nats_user"], password=told["nats_password"])
    await connection.connect()
    try:
        await connection.publish(f"toolbus.cmd.{told['tenant']}.call.submit", body)
    finally:
        await connection.close()


def test_an_unreadable_message_is_found_and_told(folder: Path, bus: Client) -> None:
    """The doctor counts it, it is listed and shown, and stays when it cannot be read a second time either."""
    credentials = json.loads((folder / ".toolbus" / "credentials.json").read_text())
    asyncio.run(publish(credentials, b'{"tool": "look", "argumnets": {}}'))
    asyncio.run(until(lambda: bus.dead.counts() == {"invalid_request": 1}))
    (listed,) = [json.loads(line) for line in run(folder, "dead", "ls", "-o", "jsonl").stdout.splitlines()]
    shown = run(folder, "dead", "show", listed["id"])
    assert (shown.returncode, shown.stderr) == (0, "")
    assert all(text in shown.stdout for text in ('"argumnets"', "COMMANDS", f"toolbus dead redrive {listed['id']}"))
    for arguments in (["--all"], [listed["id"]]):
        done = run(folder, "dead", "redrive", *arguments, "-o", "jsonl")
        assert (done.returncode, done.stdout) == (2, "")
        assert json.loads(done.stderr)["errors"] == [{"path": "/argumnets", "message": "there is no such field"}]
    assert run(folder, "dead", "show", "dead_999").returncode == 3
    examined = run(folder, "doctor")
    assert examined.returncode == 0
    assert "1 invalid_request → toolbus dead ls" in examined.stdout
