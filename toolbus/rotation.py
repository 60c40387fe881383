"""Rotating the master key of secrets: what `toolbus secrets rotate-key` does, with database and keys at hand."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError
from rich.console import Console
from rich.progress import Progress
from sqlalchemy import make_url

from toolbus.embedded import tell_settings
from toolbus_approvals.adapters.resealing import Resealing
from toolbus_approvals.adapters.vault import Vault
from toolbus_contracts.errors import Unavailable
from toolbus_integrations.adapters.secrets import SecretTable
from toolbus_integrations.secrets_rotation import Rotation
from toolbus_runtime.sealing import KeyRing
from toolbus_runtime.settings import SecretKeySettings, StoreSettings
from toolbus_runtime.store.database import make_engine


class _Settings(StoreSettings, SecretKeySettings):
    """Where secrets lie, and what seals them."""


class _Part(Protocol):
    """One table of sealed secrets."""

    async def count(self) -> int:
        """How many are sealed with another key than the current one."""
        ...

    def run(self) -> AsyncIterator[str | None]:
        """Each is sealed with the current one; what was wrong with it, or none."""
        ...


def rotate(key_file: Path | None, database_url: str | None) -> int:
    """Every secret in the database is sealed with the first master key; the exit code, 1 when some do not open."""
    console = Console(stderr=True)
    try:
        given = {"secrets_key_file": key_file, "database_url": database_url}
        settings = _Settings.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        return tell_settings(error, console)
    keys = KeyRing.of(settings)
    _must_be_there(settings.database_url)
    sealed, faults = asyncio.run(_rotate(settings.database_url, keys, console))
    for fault in faults:
        console.print(fault, style="red", highlight=False, markup=False, soft_wrap=True)
    current = keys.current().id
    console.print(f"{sealed} secrets were sealed with the master key {current}", highlight=False, markup=False)
    if faults:
        console.print(f"{len(faults)} do not open; keep the keys of before", style="red", highlight=False)
        return 1
    if len(keys.all()) > 1:
        console.print("In a minute nothing needs the keys behind it, except backups of before.", highlight=False)
    return 0


def _must_be_there(url: str) -> None:
    """Refuse a database file that does not exist, since opening it would make one."""
    known = make_url(url)
    if known.drivername == "sqlite" and not Path(known.database or "").is_file():
        raise Unavailable(f"there is no database {known.database}; name it with --database")


async def _rotate(url: str, keys: KeyRing, console: Console) -> tuple[int, list[str]]:
    """
    How many secrets were sealed, and what was wrong with the others.

    Raises:
        Unavailable: the database is away, or there is no key.
    """
    engine = make_engine(url)
    parts: tuple[_Part, ...] = (Rotation(SecretTable(engine), keys), Resealing(engine, Vault(keys)))
    sealed, faults = 0, []
    try:
        total = sum([await part.count() for part in parts])
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("sealing", total=total)
            for part in parts:
                async for fault in part.run():
                    progress.advance(task)
                    sealed += fault is None
                    faults += [fault] if fault is not None else []
    finally:
        await engine.dispose()
    return sealed, faults
