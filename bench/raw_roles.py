"""
The two services of the raw limit, as own processes: `python -m bench.raw_roles ROLE NATS_URL TARGET_URL`.

They do what any dispatcher and executor on this bus must do, and nothing else: no store, no checks.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import aiohttp
import nats
import uvloop
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NothingThere
from nats.js.client import JetStreamContext

from bench.bus_load import AckedPublisher

COMMANDS, WORK, OUTCOMES, EVENTS = "raw.cmd", "raw.work", "raw.out", "raw.evt"
STREAMS = {"COMMANDS": COMMANDS, "WORK": WORK, "OUTCOMES": OUTCOMES, "EVENTS": EVENTS}
WORK_QUEUES = ("COMMANDS", "WORK", "OUTCOMES")
BATCH = 256
BATCHES_IN_FLIGHT = 8
CALLS_IN_FLIGHT = 200
WAIT_S = 5.0


def key_of(message: Msg) -> str:
    """The call key, which is the last token of every subject here."""
    return message.subject.rsplit(".", 1)[1]


async def fetch(subscription: JetStreamContext.PullSubscription, most: int) -> list[Msg]:
    """What is there, or nothing after a while."""
    try:
        return await subscription.fetch(most, timeout=WAIT_S)
    except NothingThere:
        return []


async def forward(subscription: JetStreamContext.PullSubscription, publisher: AckedPublisher, destination: str) -> None:
    """Pass every message on to another stream, and ack it when that stream has stored it."""
    free = asyncio.Semaphore(BATCHES_IN_FLIGHT)

    async def pass_on(messages: list[Msg]) -> None:
        try:
            stored = [await publisher.send(f"{destination}.{key_of(message)}", message.data) for message in messages]
            await asyncio.gather(*stored)
            for message in messages:
                await message.ack()
        finally:
            free.release()

    async with asyncio.TaskGroup() as group:
        while True:
            await free.acquire()
            group.create_task(pass_on(await fetch(subscription, BATCH)))


async def execute(subscription: JetStreamContext.PullSubscription, publisher: AckedPublisher, target: str) -> None:
    """Make the effect of every work item, tell the outcome, then ack."""
    free = asyncio.Semaphore(CALLS_IN_FLIGHT)
    held = 0

    async def one(message: Msg, http: aiohttp.ClientSession) -> None:
        nonlocal held
        try:
            async with http.get(f"{target}?n={key_of(message)}") as response:
                answer = await response.read()
            await publisher.publish(f"{OUTCOMES}.{key_of(message)}", answer)
            await message.ack()
        finally:
            held -= 1
            free.release()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http, asyncio.TaskGroup() as group:
        while True:
            async with free:
                most = CALLS_IN_FLIGHT - held
            for message in await fetch(subscription, most):
                await free.acquire()
                held += 1
                group.create_task(one(message, http))


Loop = Callable[[], Awaitable[None]]


async def main(role: str, url: str, target: str) -> None:
    """Run one role until the process is told to end."""
    client = await nats.connect(url)
    publisher = await AckedPublisher.open(client)
    jetstream = client.jetstream()

    async def durable(stream: str) -> JetStreamContext.PullSubscription:
        return await jetstream.pull_subscribe_bind(durable=role, stream=stream)

    if role == "dispatcher":
        await asyncio.gather(
            forward(await durable("COMMANDS"), publisher, WORK),
            forward(await durable("OUTCOMES"), publisher, EVENTS),
        )
    else:
        await execute(await durable("WORK"), publisher, target)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:4]))
