"""Providers as nobody should write them, offered by a package of their own; it is copied where it can be found."""

import asyncio
import json
import os
import sys
import time

from pydantic import BaseModel, Field

from toolbus import READ, WRITE, Call, Info, Provider, ToolFailed
from toolbus_integrations.host import running


class Wish(BaseModel):
    """What is wanted: a number of something, and where."""

    number: float = 0
    url: str = ""
    text: str = ""


class Told(BaseModel):
    """What came of it."""

    text: str = ""
    names: list[str] = []


misbehaving = Provider("misbehaving", info=Info(friendly_name="Misbehaving"))


@misbehaving.method(contract=READ)
async def block(arguments: Wish, setup: None, call: Call) -> Told:
    """Hold the loop up."""
    time.sleep(arguments.number)  # noqa: ASYNC251 - that is what it does wrong
    return Told(text="done")


@misbehaving.method(contract=READ)
async def crash(arguments: Wish, setup: None, call: Call) -> Told:
    """End the process."""
    if arguments.url:
        await call.get(arguments.url)
    os._exit(3)


@misbehaving.method(contract=WRITE)
async def crash_after_sending(arguments: Wish, setup: None, call: Call) -> Told:
    """End the process when something has left."""
    await call.post(arguments.url)
    os._exit(3)


@misbehaving.method(contract=READ)
async def leak(arguments: Wish, setup: None, call: Call) -> Told:
    """Take memory until there is none."""
    held: list[bytes] = []
    while True:
        held.append(b"x" * 4_000_000)
        await asyncio.sleep(0)


@misbehaving.method(contract=READ)
async def bloat(arguments: Wish, setup: None, call: Call) -> Told:
    """Give so many bytes."""
    return Told(text="x" * int(arguments.number))


@misbehaving.method(contract=READ)
async def hang(arguments: Wish, setup: None, call: Call) -> Told:
    """Never end, unless it is stopped."""
    await asyncio.Event().wait()
    return Told()


@misbehaving.method(contract=READ)
async def linger(arguments: Wish, setup: None, call: Call) -> Told:
    """Give a large output that takes so many seconds to be written."""

    def slow(raw: bytes) -> object:
        sys.stderr.write("writing\n")
        time.sleep(arguments.number)
        return json.loads(raw)

    vars(running)["parse_json"] = slow
    return Told(text="x" * (running.LARGE_BYTES + 1))


@misbehaving.method(contract=READ)
async def stubborn(arguments: Wish, setup: None, call: Call) -> Told:
    """Never end, not even when it is stopped."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


@misbehaving.method(contract=READ)
async def fail(arguments: Wish, setup: None, call: Call) -> Told:
    """Raise what no method may raise."""
    raise KeyError(arguments.text)


@misbehaving.method(contract=WRITE)
async def fail_after_sending(arguments: Wish, setup: None, call: Call) -> Told:
    """Raise what no method may raise, when something has left."""
    await call.post(arguments.url)
    raise KeyError("after")


@misbehaving.method(contract=READ)
async def lie(arguments: Wish, setup: None, call: Call) -> Told:
    """Give something else than it says."""
    return Told.model_construct(text="", names="no list")  # type: ignore[arg-type]


@misbehaving.method(contract=READ)
async def look_around(arguments: Wish, setup: None, call: Call) -> Told:
    """Tell what can be seen from inside."""
    print("printed by a provider", arguments.text)
    sys.stderr.write("written by a provider\n")
    (call.folder / "kept.txt").write_text("x")
    names = sorted(
        name for name in sys.modules if name.partition(".")[0] in {"nats", "sqlalchemy", "fastapi", "aiohttp"}
    )
    return Told(
        text="\n".join(f"{name}={value}" for name, value in sorted(os.environ.items())),
        names=[*names, str(call.folder)],
    )


@misbehaving.method(contract=READ)
async def fetch(arguments: Wish, setup: None, call: Call) -> Told:
    """Give what a url answers."""
    answer = await call.get(arguments.url, follow_redirects=True, headers={"x-key": "credential"})
    return Told(text=answer.text, names=[str(answer.url)])


@misbehaving.method(contract=READ, retry_on=(500,))
async def refuse(arguments: Wish, setup: None, call: Call) -> Told:
    """Say no in its own words."""
    raise ToolFailed(arguments.text, retryable=bool(arguments.number), retry_after_s=arguments.number or None)


@misbehaving.method(contract=WRITE)
async def store(arguments: Wish, setup: None, call: Call) -> Told:
    """Put something somewhere."""
    answer = await call.post(arguments.url, json={"text": arguments.text})
    return Told(text=answer.text)


class Keys(BaseModel):
    """What has to be set up: a key, and where the vendor is."""

    api_key: str = Field(json_schema_extra={"format": "password"})
    base_url: str
    port: int = 443


keyed = Provider("keyed", info=Info(friendly_name="Keyed"), setup=Keys)


@keyed.method(contract=READ)
async def ask(arguments: Wish, setup: Keys, call: Call) -> Told:
    """Ask the vendor, with the key; tell what it answers, and the key too."""
    url = arguments.url or setup.base_url
    answer = await call.get(url, headers={"x-key": setup.api_key}, follow_redirects=True)
    print("the key is", setup.api_key)
    return Told(text=answer.text, names=[setup.api_key, str(setup.port)])


misnamed = Provider("another", info=Info(friendly_name="Misnamed"))
wanting = Provider("wanting", info=Info(friendly_name="Wanting"), extra="magic", needs=("no_such_module_here",))
wanting.methods.update(misbehaving.methods)
