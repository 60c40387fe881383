"""The demo: the main job from end to end on this machine, in a folder that is thrown away."""

import asyncio
import tempfile
import time
from functools import partial
from pathlib import Path

import uvloop
from rich.console import Console

from toolbus.client import AsyncClient
from toolbus.demo.story import tell
from toolbus.demo.target import Target
from toolbus.embedded import run_everything
from toolbus.installation import Installation
from toolbus.options import UpOptions
from toolbus_runtime.bus.server import free_port
from toolbus_runtime.logging import configure_logging
from toolbus_runtime.settings import Settings


def run() -> int:
    """Run the demo; the exit code is 0 when every call succeeded and the log verifies."""
    configure_logging(Settings(log_level="error", log_format="console"))
    return uvloop.run(_demo(Console()))


async def _demo(console: Console) -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="toolbus-demo-") as folder:
        async with Target() as target:
            is_fine = await _run(console, target, Path(folder), began)
    console.print(f"Everything stopped. The demo took {time.monotonic() - began:.1f} s.")
    return 0 if is_fine else 1


async def _run(console: Console, target: Target, folder: Path, began: float) -> bool:
    """Start everything, tell the story, stop everything; true when all was as it should be."""
    stop = asyncio.Event()
    ready: asyncio.Future[Installation] = asyncio.get_running_loop().create_future()
    place = f"127.0.0.1:{target.port}"  # on this machine, where the guard lets no call go unasked
    options = UpOptions(data=folder, port=0, nats_port=free_port(), allow_egress=place)
    everything = asyncio.create_task(run_everything(options, stop, ready.set_result))
    try:
        everything.add_done_callback(partial(_give_up, ready))
        installation = await ready
        seconds = time.monotonic() - began
        console.print(f"Everything runs: HTTP, NATS and the event store (ready in {seconds:.1f} s).")
        credentials = installation.credentials
        async with AsyncClient(credentials["url"], credentials["api_key"]) as client:
            is_fine = await tell(console, client, target, installation.database_url)
    finally:
        stop.set()
        await asyncio.gather(everything, return_exceptions=True)
    everything.result()
    return is_fine


def _give_up(ready: "asyncio.Future[Installation]", ended: "asyncio.Task[None]") -> None:
    """Tell whoever waits for readiness that it will not come."""
    if not ready.done():
        ready.set_exception(ended.exception() or RuntimeError("everything stopped before it was ready"))
