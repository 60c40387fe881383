"""Providers that do not speak HTTP, in processes of their own: mail, a program, a browser."""

import asyncio
import base64
import io
import wave
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.integrations.shelf import MIB, Started
from tests.nats_fixtures import until
from tests.unit.integrations.providers.authority import Authority
from tests.unit.integrations.providers.chromium import CHROMIUM, chromium
from tests.unit.integrations.providers.mail_server import PASSWORD, USER, mail_server
from toolbus_integrations.host.messages import Ended, FailedMethod, Gave, Perform

MAIL = {"to": "bob@example.org", "from": "ann@example.com", "subject": "Hello", "body": "How are you?"}

LOOK = {"action": "screenshot"}


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    """Hosts with as much memory as the service gives them; loopback may be reached."""
    made = Started(egress_allow="localhost,127.0.0.0/8", memory_bytes=1024 * MIB)
    yield made
    await made.hosts.close()


async def _run(
    started: Started, provider: str, method: str, *, setup: dict[str, Any], arguments: dict[str, Any]
) -> tuple[Ended, int]:
    """What came of it, and how often it was told that something may leave."""
    question = Perform(
        id=0,
        method=method,
        setup=setup,
        arguments=arguments,
        tenant="acme",
        call_id="call_1",
        max_output_bytes=10 * MIB,
        send_by=None,
    )
    sent: list[bool] = []
    ended = await started.hosts.perform(provider, question, lambda: sent.append(True), asyncio.Event())
    return ended, len(sent)


def _silence(seconds: int) -> str:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16000 * seconds))
    return base64.b64encode(file.getvalue()).decode()


async def test_mail(started: Started, tmp_path: Path) -> None:
    """Mail is sent over TLS from the process; what the server refuses at the end is known not to have happened."""
    authority = Authority()
    async with mail_server(starttls=authority.context("localhost", tmp_path)) as post:
        setup = {"host": "localhost", "port": post.port, "user": USER, "password": PASSWORD}
        setup["ca_certificates"] = authority.pem
        ended, sent = await _run(started, "email", "send", setup=setup, arguments=MAIL)
        assert isinstance(ended, Gave), ended
        assert (ended.output["success"], sent, len(post.envelopes)) == (True, 1, 1)
        post.answers = "554 5.6.0 spam"
        ended, sent = await _run(started, "email", "send", setup=setup, arguments=MAIL)
        assert isinstance(ended, FailedMethod), ended
        assert (ended.has_effect, ended.retryable, sent) == (False, False, 1)
        ended, sent = await _run(started, "email", "send", setup={**setup, "password": "guessed"}, arguments=MAIL)
        assert isinstance(ended, FailedMethod), ended
        assert ("535" in ended.message, sent) == (True, 0)


async def test_program(started: Started) -> None:
    """The program runs in the folder of the call, within the memory of the process."""
    arguments = {"cmd": "ffmpeg -i in.wav out.flac", "file": _silence(1)}
    ended, sent = await _run(started, "ffmpeg", "bash_cmd", setup={}, arguments=arguments)
    assert isinstance(ended, Gave), ended
    assert (base64.b64decode(str(ended.output["fileoutput"]))[:4], sent) == (b"fLaC", 0)


def _has_ended(process: psutil.Process) -> bool:
    """Whether it does nothing any more; whoever it was left to may not have looked after it yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_program_ends_with_its_process(started: Started) -> None:
    """A process that is killed takes with it what it has started."""
    arguments = {"cmd": "-stream_loop -1 -i in.wav -af atempo=0.5 -t 900000 out.mp3", "file": _silence(1)}
    running = asyncio.create_task(_run(started, "ffmpeg", "bash_cmd", setup={}, arguments=arguments))
    async with asyncio.timeout(40):
        while not (found := [one for one in psutil.Process().children(recursive=True) if "ffmpeg" in one.name()]):
            assert not running.done()
            await asyncio.sleep(0.02)
    host = found[0].parent()
    assert host is not None
    host.kill()
    await until(lambda: all(_has_ended(one) for one in found), within_s=20)
    await asyncio.wait([running])


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM} (Debian's package chromium)")
async def test_browser(started: Started, tmp_path: Path) -> None:
    """A browser is driven from the process, past the guard, as one WebSocket."""
    async with chromium(tmp_path / "profile") as browser:
        setup = {"connect_url": browser.http_url, "width": 320, "height": 200}
        ended, _ = await _run(started, "remote_browser", "perform_action", setup=setup, arguments=LOOK)
        assert isinstance(ended, Gave), ended
        assert str(ended.output["base64_image"]).startswith("data:image/png;base64,iVBOR")
        strict = Started(egress_allow="", memory_bytes=1024 * MIB)
        ended, _ = await _run(strict, "remote_browser", "perform_action", setup=setup, arguments=LOOK)
        assert isinstance(ended, FailedMethod), ended
        assert ended.code == "egress_denied"
        await strict.hosts.close()
