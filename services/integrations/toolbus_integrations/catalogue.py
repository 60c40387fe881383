"""The catalogue: every provider, as its own process describes it."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from toolbus_contracts.errors import Fault, NotFound, Refused, Unavailable
from toolbus_contracts.integrations import MethodView, ProviderFault, ProviderInfo, ProviderView
from toolbus_contracts.tools import IntegrationSection, Surface
from toolbus_integrations.host.describing import VIEWS
from toolbus_integrations.hosting.hosts import Hosts
from toolbus_integrations.hosting.shelf import ours, theirs
from toolbus_integrations.hosting.spawning import environment

DESCRIBING = "toolbus_integrations.host.describing"
DESCRIBING_S = 60.0
AWAY = "unavailable"  # the fault of a provider that may be there later


class Catalogue:
    """
    What providers there were at the start, and what they say of themselves, which is asked once.

    One that is asked for alone is about to be called: its own process says it. The list of ours is read by one
    process together; each of others has a process of its own, which may break.
    """

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._names, self._theirs = frozenset(ours()), theirs()  # looking through all packages takes 50 ms
        self._ours: dict[str, ProviderView] = {}
        self._reading = asyncio.Lock()

    def is_known(self, name: str) -> bool:
        """Whether there is a provider of this name."""
        return name in self._names or name in self._theirs

    async def views(self) -> tuple[ProviderView, ...]:
        """
        Every provider, by name; one that cannot be used has a fault.

        Raises:
            Unavailable: ours cannot be read now.
        """
        await self._read()
        found = await asyncio.gather(*(self._by_itself(name) for name in self._theirs))
        return tuple(sorted((*self._ours.values(), *found), key=lambda view: view.provider))

    async def view(self, name: str) -> ProviderView:
        """
        One provider.

        Raises:
            NotFound: there is none of this name.
            Unavailable: as `views`.
        """
        if name in self._ours:
            return self._ours[name]
        if not self.is_known(name):
            raise NotFound(f"there is no provider {name}")
        return await self._by_itself(name)

    async def method(self, provider: str, method: str | None) -> tuple[ProviderView, MethodView]:
        """
        A provider and its method, the usual one when none is named.

        Raises:
            NotFound: there is no such provider or method.
            Refused: the provider cannot be used.
            Unavailable: as `views`, or the provider died too often to be started again yet.
        """
        view = await self.view(provider)
        if view.fault is not None and view.fault.code == AWAY:
            raise Unavailable(view.fault.message, self._hosts.pause_s(provider))
        if view.fault is not None:
            raise Refused(view.fault.code, view.fault.message)
        found = view.method(method)
        if found is None:
            raise NotFound(f"the provider {provider} has no method {method}")
        return view, found

    async def surface(self, section: IntegrationSection) -> Surface:
        """
        What a tool of this section takes and gives.

        Raises:
            Refused: `invalid_definition`, there is no such provider or method; else as `method`.
        """
        try:
            view, found = await self.method(section.provider, section.method)
        except NotFound as error:
            place = "/integration/method" if self.is_known(section.provider) else "/integration/provider"
            raise Refused("invalid_definition", error.message, (Fault(place, error.message),)) from error
        return surface_of(view, found)

    async def _by_itself(self, name: str) -> ProviderView:
        """What the process of a provider says, or why it says nothing."""
        try:
            return await self._hosts.view(name)
        except (Refused, Unavailable) as error:
            fault = ProviderFault(code=error.code, message=error.message)
            return ProviderView(provider=name, package="", info=ProviderInfo(friendly_name=name), fault=fault)

    async def _read(self) -> None:
        """Ours are known on return."""
        async with self._reading:
            if not self._ours:
                self._ours = {
                    view.provider: view for view in VIEWS.validate_json(await _described(sorted(self._names)))
                }


def surface_of(view: ProviderView, method: MethodView) -> Surface:
    """The surface of a tool that is this method."""
    return Surface(
        description=method.description,
        arguments=method.arguments,
        output=method.output,
        setup=view.setup,
        contract=method.contract,
        timeout_s=method.timeout_s,
        version=f"{view.package} {view.version}",
    )


async def _described(names: Iterable[str]) -> bytes:
    """What one process says of these providers. Raises: Unavailable."""
    folder = Path(tempfile.mkdtemp(prefix="toolbus-describing-"))
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", DESCRIBING, *names),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(folder),
            cwd=folder,
        )
        try:
            said, complaint = await asyncio.wait_for(process.communicate(), DESCRIBING_S)
        except BaseException:
            process.kill()
            await process.wait()
            raise
    except (OSError, TimeoutError) as error:
        raise Unavailable(f"the catalogue cannot be read: {type(error).__name__}: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if process.returncode != 0:
        raise Unavailable(f"the catalogue cannot be read: {complaint.decode(errors='replace')[-500:]}")
    return said
