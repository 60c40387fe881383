"""Where a secret might have been left: rows of a database, pages of metrics, and what HTTP tells."""

import json
from collections.abc import Iterable
from typing import Any

import httpx
import psutil
from sqlalchemy import inspect, text

from toolbus_runtime.store.database import make_engine

TOLD = tuple[str, bytes]  # where something stands, and what


async def rows_of(url: str) -> list[TOLD]:
    """
    Every value in every table, by table: a value that lies on several pages of a file is whole here.

    What PostgreSQL keeps compressed is unpacked.
    """
    engine = make_engine(url)
    try:
        async with engine.connect() as connection:
            tables = await connection.run_sync(lambda found: inspect(found).get_table_names())
            read = {}
            for table in tables:
                rows = await connection.execute(text(f'SELECT * FROM "{table}"'))  # noqa: S608 - named by the database
                read[table] = [_as_bytes(value) for row in rows for value in row]
    finally:
        await engine.dispose()
    return [(f"rows of {table}", b"\n".join(values)) for table, values in read.items()]


def _as_bytes(value: Any) -> bytes:
    match value:
        case bytes() | memoryview():
            return bytes(value)
        case dict() | list():
            return json.dumps(value, ensure_ascii=False).encode()
        case _:
            return str(value).encode()


async def metrics_of(pid: int) -> list[TOLD]:
    """The metrics of a process and of all that it started, from every port on which one of them shows any."""
    process = psutil.Process(pid)
    ports = {
        connection.laddr.port
        for one in [process, *process.children(recursive=True)]
        for connection in one.net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    pages = []
    async with httpx.AsyncClient(timeout=10, trust_env=False) as http:
        for port in sorted(ports):
            try:
                page = await http.get(f"http://127.0.0.1:{port}/metrics")
            except httpx.HTTPError:  # this one speaks something else
                continue
            if page.is_success:
                pages.append((f"metrics on port {port}", page.content))
    return pages


async def told_by(http: httpx.AsyncClient, paths: Iterable[str]) -> list[TOLD]:
    """What is answered there, each of which is there."""
    answers = [(path, await http.get(path)) for path in paths]
    assert {path: answer.status_code for path, answer in answers if not answer.is_success} == {}
    return [(path, answer.content) for path, answer in answers]
