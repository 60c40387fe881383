"""
Browserbase: browsers in the cloud, as sessions that something else (`remote_browser`) connects to and drives.

A session costs money from its start to its end, so starting one is never repeated blindly; ending one twice ends it
once. What lives behind a session is the vendor's network, not ours.
"""

import asyncio
import re
from typing import Annotated, Final, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import BaseModel, Field, JsonValue, RootModel, StringConstraints

from toolbus.provider import PUT, READ, WRITE, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.archives import without_top_folder
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key, Vendor, beforehand

BROWSERBASE: Final = Vendor("Browserbase", told_at=(("message",), ("error",)))
GITHUB: Final = Vendor("GitHub", told_at=(("message",),))
MAX_TIMEOUT_S: Final = 21600
ARCHIVE_TIMEOUT_S: Final = 60.0

Status = Literal["PENDING", "RUNNING", "ERROR", "TIMED_OUT", "COMPLETED"]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,100}$")]


class Setup(Closed):
    """
    `api_key` and `project_id` of the vendor's settings.

    `connect_url` (`wss://host`) replaces scheme and host of the address that the vendor tells for a session.
    """

    api_key: Key
    project_id: str = Field(min_length=1)
    api_url: BaseUrl | None = None
    connect_url: str | None = Field(default=None, pattern=r"^(wss?|https?)://[^\s/?#@]+/?$")
    github_url: BaseUrl = "https://github.com"

    @property
    def base_url(self) -> str:
        """Where the interface is, unless `api_url` says otherwise."""
        return self.api_url or "https://api.browserbase.com"


provider = Provider(
    "browserbase",
    info=Info(
        friendly_name="Browserbase",
        url="https://www.browserbase.com",
        docs="https://docs.browserbase.com/reference/api",
    ),
    setup=Setup,
)


class Listing(Closed):
    """Which sessions to list; all of them unless told."""

    status: Status | None = None


class Wanted(Closed):
    """
    The session to start. `timeout` (seconds) ends it whatever happens; `keepAlive` keeps it when nobody is connected.

    `proxies`: the vendor's, or a list of its configurations. `projectId` goes before that of the setup; `project_id` is
    the same, as published examples have it.
    """

    projectId: str | None = None  # noqa: N815 - as published
    project_id: str | None = None
    extensionId: str | None = None  # noqa: N815 - as published
    browserSettings: dict[str, JsonValue] = Field(default={})  # noqa: N815 - as published
    timeout: int = Field(default=3600, ge=60, le=MAX_TIMEOUT_S)
    keepAlive: bool = False  # noqa: N815 - as published
    proxies: bool | list[dict[str, JsonValue]] = False


class Named(Closed):
    """The session."""

    id: Id


class Ending(Closed):
    """The session to end."""

    id: Id
    status: Literal["REQUEST_RELEASE"] = "REQUEST_RELEASE"


class Extension(Closed):
    """A browser extension in a repository (`owner/name`), at a tag or else as the default branch is now."""

    repositoryName: str = Field(pattern=r"^[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}$")  # noqa: N815 - as published
    ref: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}$")


class Session(BaseModel):
    """A session, as the vendor tells it; times are ISO 8601."""

    id: str
    createdAt: str  # noqa: N815 - as published
    projectId: str  # noqa: N815 - as published
    startedAt: str | None = None  # noqa: N815 - as published
    endedAt: str | None = None  # noqa: N815 - as published
    expiresAt: str | None = None  # noqa: N815 - as published
    status: Status
    proxyBytes: int | None = None  # noqa: N815 - as published
    avgCpuUsage: float | None = None  # noqa: N815 - as published
    memoryUsage: float | None = None  # noqa: N815 - as published
    keepAlive: bool = False  # noqa: N815 - as published
    contextId: str | None = None  # noqa: N815 - as published


class Started(Session):
    """A session, and where to connect to it: whoever knows the address drives it."""

    connect_url: str


class Sessions(BaseModel):
    """Sessions, as the vendor orders them."""

    sessions: list[Session]


class Done(BaseModel):
    """It was done; what the vendor refuses fails the call."""

    success: bool


class LivePage(BaseModel):
    """A page of a session, and where to watch it."""

    id: str
    url: str
    faviconUrl: str = ""  # noqa: N815 - as published
    title: str
    debuggerUrl: str  # noqa: N815 - as published
    debuggerFullscreenUrl: str  # noqa: N815 - as published


class LiveUrls(BaseModel):
    """Where to watch a session, and each of its pages."""

    debuggerFullscreenUrl: str  # noqa: N815 - as published
    debuggerUrl: str  # noqa: N815 - as published
    wsUrl: str  # noqa: N815 - as published
    pages: list[LivePage]


class Live(BaseModel):
    """The addresses."""

    urls: LiveUrls


class Installed(BaseModel):
    """The extension, to be named when a session is started."""

    id: str


class _Started(Session):
    connectUrl: str  # noqa: N815 - the vendor's


class _Sessions(RootModel[list[Session]]):
    pass


@provider.method(contract=READ, retry_on=(500, 502))
async def list_sessions(arguments: Listing, setup: Setup, call: Call) -> Sessions:
    """List the sessions of the account."""
    params = {"status": arguments.status} if arguments.status else {}
    answer = await BROWSERBASE.answer(call.get(f"{setup.base_url}/v1/sessions", params=params, headers=_key(setup)))
    return Sessions(sessions=BROWSERBASE.read(answer, _Sessions).root)


@provider.method(contract=WRITE, timeout_s=60)
async def create_session(arguments: Wanted, setup: Setup, call: Call) -> Started:
    """Start a browser session."""
    project = arguments.projectId or arguments.project_id or setup.project_id
    wanted = {**arguments.model_dump(mode="json", exclude_none=True, exclude={"project_id"}), "projectId": project}
    answer = await BROWSERBASE.answer(call.post(f"{setup.base_url}/v1/sessions", json=wanted, headers=_key(setup)))
    started = BROWSERBASE.read(answer, _Started)
    told = started.model_dump(exclude={"connectUrl"})
    return Started(**told, connect_url=_at(started.connectUrl, setup.connect_url))


@provider.method(contract=READ, retry_on=(500, 502))
async def get_session(arguments: Named, setup: Setup, call: Call) -> Session:
    """Read how a session is doing."""
    asking = call.get(f"{setup.base_url}/v1/sessions/{arguments.id}", headers=_key(setup))
    return BROWSERBASE.read(await BROWSERBASE.answer(asking), Session)


@provider.method(contract=PUT, retry_on=(500, 502))
async def complete_session(arguments: Ending, setup: Setup, call: Call) -> Done:
    """End a session before its time."""
    body: JsonValue = {"projectId": setup.project_id, "status": arguments.status}
    asking = call.post(f"{setup.base_url}/v1/sessions/{arguments.id}", json=body, headers=_key(setup))
    BROWSERBASE.read(await BROWSERBASE.answer(asking), Session)
    return Done(success=True)


@provider.method(contract=READ, retry_on=(500, 502))
async def get_live_urls(arguments: Named, setup: Setup, call: Call) -> Live:
    """Read where people can watch a session, and step in."""
    asking = call.get(f"{setup.base_url}/v1/sessions/{arguments.id}/debug", headers=_key(setup))
    return Live(urls=BROWSERBASE.read(await BROWSERBASE.answer(asking), LiveUrls))


@provider.method(contract=WRITE, timeout_s=120)
async def install_extension_from_github(arguments: Extension, setup: Setup, call: Call) -> Installed:
    """Upload a browser extension from a repository on GitHub."""
    at = f"refs/tags/{quote(arguments.ref)}" if arguments.ref else "HEAD"
    url = f"{setup.github_url}/{arguments.repositoryName}/archive/{at}.zip"
    async with beforehand(f"no archive of {arguments.repositoryName}", within_s=ARCHIVE_TIMEOUT_S):
        archive = await GITHUB.answer(call.get(url, follow_redirects=True))
    try:
        packed = await asyncio.to_thread(without_top_folder, archive.content, must_hold="manifest.json")
    except ValueError as error:
        raise ToolFailed(f"{arguments.repositoryName}: {error}", code="response_invalid", has_effect=False) from error
    name = re.sub(r"[^A-Za-z0-9._-]", "-", arguments.repositoryName)
    asking = call.post(
        f"{setup.base_url}/v1/extensions",
        files={"file": (f"{name}.zip", packed, "application/zip")},
        headers=_key(setup),
    )
    return BROWSERBASE.read(await BROWSERBASE.answer(asking), Installed)


def _key(setup: Setup) -> dict[str, str]:
    return {"x-bb-api-key": setup.api_key}


def _at(url: str, place: str | None) -> str:
    """The url, at another place if there is one."""
    if place is None:
        return url
    scheme, host = urlsplit(place)[:2]
    return urlunsplit((scheme, host, *urlsplit(url)[2:]))
