"""The first key of an installation: written straight into an empty store, before anybody could ask for it."""

import asyncio

from toolbus_contracts.keys import SCOPES, Actor, CreateKey
from toolbus_dispatcher.aggregates import AGGREGATES
from toolbus_dispatcher.resources import Resources
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.store.database import open_store


async def create_first_key(database_url: str, tenant: str, subject: str = "user:operator") -> str:
    """Create a key with every scope and give its token."""
    store = open_store(database_url)
    batcher = Batcher(store, AGGREGATES, lambda _: None)
    working = asyncio.create_task(batcher.run())
    try:
        actor = Actor(subject="service:bootstrap", via="internal")
        command = CreateKey(subject=subject, scopes=SCOPES)
        _, token = await Resources(batcher).create_key(command, tenant=tenant, actor=actor)
        return token.text()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await store.close()
