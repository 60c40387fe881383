"""
Everything on this machine: what `toolbus up`, `serve`, `migrate` and `bus declare` do.

The data folder holds `credentials.json` (for clients), `services.json` (for the services), the
database and NATS's folder; all of it readable by its owner only.
"""

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from pydantic import SecretStr, ValidationError
from rich.console import Console

from toolbus.installation import Installation, held
from toolbus.options import UpOptions
from toolbus_api_caller.app import ApiCaller
from toolbus_api_caller.settings import ApiCallerSettings
from toolbus_approvals.app import Approvals
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.serving import APPROVALS, INTEGRATIONS
from toolbus_dispatcher.app import Dispatcher
from toolbus_dispatcher.settings import DispatcherSettings
from toolbus_integrations.app import Integrations
from toolbus_integrations.settings import IntegrationsSettings
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.server import EmbeddedNats
from toolbus_runtime.bus.streams import declare as declare_streams
from toolbus_runtime.http.server import listen
from toolbus_runtime.logging import configure_logging
from toolbus_runtime.process import SUPERVISED, run_until_signalled
from toolbus_runtime.settings import Settings
from toolbus_runtime.store.database import migrate as migrate_database

log = structlog.get_logger(__name__)
Run = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
SERVICES = ("dispatcher", "api_caller", "approvals", "integrations")
SETTINGS: dict[str, type[Settings]] = {
    "dispatcher": DispatcherSettings,
    "api_caller": ApiCallerSettings,
    "approvals": ApprovalsSettings,
    "integrations": IntegrationsSettings,
}


def up(options: UpOptions) -> int:
    """Run everything until SIGINT or SIGTERM; the exit code."""
    configure_logging(Settings(log_level="warning", log_format="console"))
    console = Console(stderr=True)

    def tell(installation: Installation) -> None:
        credentials = installation.credentials
        console.print(f"[bold]Toolbus is ready[/bold] at {credentials['url']}", highlight=False)
        if installation.is_new:
            console.print(f"API key (shown once): {credentials['api_key']}", highlight=False, soft_wrap=True)
        console.print(f"Credentials: {installation.credentials_path}", highlight=False, soft_wrap=True)
        console.print("Stop with Ctrl-C.")

    try:
        run_until_signalled(lambda stop: run_everything(options, stop, tell), holds_much=True)
    except ValidationError as error:
        return tell_settings(error, console)
    except (OSError, Unavailable) as error:
        told = getattr(error, "strerror", None) or error
        console.print(f"toolbus up: {told}", style="red", highlight=False, soft_wrap=True)
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            console.print("→ Choose others with --port and --nats-port; 0 takes a free one.", style="cyan")
        return 69
    return 0


async def run_everything(options: UpOptions, stop: asyncio.Event, on_ready: Callable[[Installation], None]) -> None:
    """
    Start NATS, the database and all services, say so once they are ready, and run until `stop`.

    Raises:
        OSError: a port is taken.
        Unavailable: a server did not start, or another process runs on the data folder.
    """
    with held(options.data.resolve()):
        await _run(options, stop, on_ready)


async def _run(options: UpOptions, stop: asyncio.Event, on_ready: Callable[[Installation], None]) -> None:
    bound = listen("127.0.0.1", options.port)
    installation = Installation.open(options, bound.getsockname()[1])
    nats: EmbeddedNats | None = None
    try:
        if options.nats is None:
            nats = installation.nats()
            await nats.start()
            installation.nats_url = nats.url
        await migrate_database(installation.database_url)
        await _declare(installation.nats_url, installation.passwords["operator"])
        await installation.write_credentials()
        if options.processes:
            bound.close()
            await _run_processes(installation, stop, on_ready)
        else:
            await _run_here(installation, stop, bound, on_ready)
    finally:
        bound.close()
        if nats is not None:
            await nats.stop()


async def _run_here(
    installation: Installation, stop: asyncio.Event, bound: socket.socket, on_ready: Callable[[Installation], None]
) -> None:
    """All services in this process."""
    dispatcher = Dispatcher(DispatcherSettings(**installation.settings("dispatcher")))
    api_caller = ApiCaller(ApiCallerSettings(**installation.settings("api_caller")))
    approvals = Approvals(ApprovalsSettings(**installation.settings("approvals")))
    integrations = Integrations(IntegrationsSettings(**installation.settings("integrations")))
    beside = {APPROVALS: approvals.beside(), INTEGRATIONS: integrations.beside()}
    async with asyncio.TaskGroup() as group:
        group.create_task(dispatcher.run(stop, bound, beside))
        group.create_task(_stop_after(api_caller.run, asyncio.Event(), stop))
        group.create_task(_stop_after(partial(approvals.run, is_served=False), asyncio.Event(), stop))
        group.create_task(_stop_after(partial(integrations.run, is_served=False), asyncio.Event(), stop))
        group.create_task(_announce(installation, stop, on_ready))


async def _stop_after(run: Run, own_stop: asyncio.Event, stop: asyncio.Event) -> None:
    """Pass a stop on; one event each, so that every service ends in its own time."""
    running = asyncio.create_task(run(own_stop))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    own_stop.set()
    stopping.cancel()
    await running


async def _announce(installation: Installation, stop: asyncio.Event, on_ready: Callable[[Installation], None]) -> None:
    if await installation.until_ready(stop):
        on_ready(installation)


@dataclass
class _Child:
    name: str
    process: asyncio.subprocess.Process


async def _run_processes(
    installation: Installation, stop: asyncio.Event, on_ready: Callable[[Installation], None]
) -> None:
    """One process for each service; one that dies is started again."""
    keeping = [asyncio.create_task(_keep(installation, name, stop)) for name in SERVICES]
    try:
        await _announce(installation, stop, on_ready)
        await stop.wait()
    finally:
        stop.set()
        await asyncio.gather(*keeping)


async def _keep(installation: Installation, name: str, stop: asyncio.Event) -> None:
    while not stop.is_set():
        environment = {**os.environ, **installation.environment(name), SUPERVISED: "1"}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "toolbus", "serve", name),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        ended = asyncio.create_task(process.wait())
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if stop.is_set():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await ended
            return
        log.warning("service.restarted", service=name, exit_code=process.returncode)
        await asyncio.sleep(0.2)


async def _declare(nats_url: str, password: str, user: str = "operator") -> list[str]:
    bus = Bus(nats_url.split(","), user=user, password=password, name="toolbus declare")
    await bus.connect()
    try:
        return await declare_streams(bus)
    finally:
        await bus.close()


def serve(name: str) -> int:
    """Run one service until SIGTERM; the exit code."""
    if name not in SERVICES:
        Console(stderr=True).print(f"there is no service {name!r}; there are: {', '.join(SERVICES)}", style="red")
        return 2
    try:
        settings = SETTINGS[name]()
    except ValidationError as error:
        return tell_settings(error, Console(stderr=True))
    configure_logging(settings)
    match settings:
        case DispatcherSettings():
            run_until_signalled(lambda stop: Dispatcher(settings).run(stop), holds_much=True)
        case ApiCallerSettings():
            run_until_signalled(lambda stop: ApiCaller(settings).run(stop))
        case ApprovalsSettings():
            run_until_signalled(lambda stop: Approvals(settings).run(stop), holds_much=True)
        case IntegrationsSettings():
            run_until_signalled(lambda stop: Integrations(settings).run(stop))
        case _:
            raise AssertionError(f"{name} has settings that nothing runs")
    return 0


def tell_settings(error: ValidationError, console: Console) -> int:
    """Say which settings are wrong, by the names that the environment knows them by; the exit code."""
    for one in error.errors(include_url=False, include_input=False):
        name = "_".join(str(part) for part in one["loc"]).upper()
        console.print(
            f"TOOLBUS_{name}: {one['msg'].removeprefix('Value error, ')}", style="red", highlight=False, markup=False
        )
    return 2


def migrate(database_url: str | None) -> int:
    """Bring the database to the newest schema; the exit code."""
    url = database_url or DispatcherSettings().database_url
    asyncio.run(migrate_database(url))
    Console(stderr=True).print("the database is at the newest schema")
    return 0


def declare(nats_url: str | None) -> int:
    """Declare streams and consumers with the operator's credentials (TOOLBUS_NATS_USER, _PASSWORD); the exit code."""
    settings = Settings()
    changed = asyncio.run(
        _declare(
            nats_url or settings.nats_url,
            settings.nats_password.get_secret_value(),
            settings.nats_user or "operator",
        )
    )
    console = Console(stderr=True)
    for line in changed or ["everything is declared already"]:
        console.print(line)
    return 0


@dataclass(frozen=True)
class SettingRow:
    """One setting: its environment variable, default and meaning."""

    variable: str
    default: str
    description: str


def settings() -> list[SettingRow]:
    """Every setting of every service."""
    rows: dict[str, SettingRow] = {}
    for part in SETTINGS.values():
        for name, field in part.model_fields.items():
            default = "" if isinstance(field.default, SecretStr) else str(field.default)
            rows[name] = SettingRow(f"TOOLBUS_{name.upper()}", default, field.description or "")
    return [rows[name] for name in sorted(rows)]
