"""
A process that appends to one store until it is done or killed: `python -m tests.appender <url> <name> <count>`.

It prints a line for every append that the store has confirmed: the position of its last event.
"""

import asyncio
import sys

from tests.store_samples import sample
from toolbus_runtime.store.database import open_store
from toolbus_runtime.store.port import Appended


async def main(url: str, name: str, count: int) -> None:
    """Append two events to a stream of its own, `count` times."""
    store = open_store(url)
    for number in range(count):
        one = sample(name, "call.requested.v1", "call.dispatched.v1", version=number * 2)
        match await store.append([one]):
            case [Appended(events)]:
                print(events[-1].position, flush=True)
            case other:
                raise AssertionError(other)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
