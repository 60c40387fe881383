"""`toolbus secrets rotate-key` on a real database: with the file of master keys at hand, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus.cli.app import run
from toolbus_approvals.adapters.signing_secrets import SigningSecrets
from toolbus_approvals.adapters.vault import Vault
from toolbus_contracts.secrets import PutSecret, SealedSecret
from toolbus_contracts.webhooks import SigningSecret
from toolbus_integrations.adapters.secrets import SecretTable
from toolbus_runtime.sealing import KeyRing, open_sealed, seal
from toolbus_runtime.store.database import make_engine

T = TypeVar("T")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD, NEW = f"old {'o' * 40}", f"new {'n' * 40}"
VALUE, WHSEC = "canary-7a5ebf-value", "whsec_" + "A" * 43 + "="


def on(url: str, work: Callable[[AsyncEngine], Awaitable[T]]) -> T:
    """What this work on the database comes to; commands have event loops of their own, and so has this."""

    async def with_engine() -> T:
        engine = make_engine(url)
        try:
            return await work(engine)
        finally:
            await engine.dispose()

    return asyncio.run(with_engine())


async def stored(engine: AsyncEngine) -> SigningSecret:
    """Two secrets of tools and one of a webhook, under the old key."""
    ring, table = KeyRing(OLD), SecretTable(engine)

    def sealed(generation: int) -> SealedSecret:
        return seal(ring.current(), "acme", PutSecret(value=VALUE), name="pay", generation=generation)

    await table.put("acme", "pay", sealed, NOW)
    await table.put("acme", "pay", sealed, NOW)
    made = await SigningSecrets(engine, Vault(ring)).put("acme", "crm", WHSEC, NOW)
    return SigningSecret(id=made.id, scheme=made.scheme, public_key=made.public_key, since=NOW)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh database of each kind, for tests that have no event loop."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_url")
        return
    server = request.getfixturevalue("postgres_server")
    made: str = asyncio.run(server.fresh_database())
    yield made
    asyncio.run(server.drop_database(made))


def test_everything_is_sealed_with_the_first_key(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Afterwards the new key alone opens secrets and webhooks; a second time there is nothing to do."""
    keys = tmp_path / "master.keys"
    keys.write_text(f"{NEW}\n{OLD}\n")
    signing = on(url, stored)
    rotate = ["secrets", "rotate-key", "--key-file", str(keys), "--database", url]
    assert run(rotate) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "2 secrets were sealed with the master key new" in told.err
    assert VALUE not in told.err
    keys.write_text(f"{NEW}\n")
    ring = KeyRing(path=keys)

    async def opened(engine: AsyncEngine) -> tuple[str, int, list[str]]:
        found = await SecretTable(engine).get("acme", "pay")
        assert found is not None
        assert isinstance(found.secret, SealedSecret)
        secrets = await SigningSecrets(engine, Vault(ring)).open("acme", "crm", [signing])
        return open_sealed(ring, "acme", found.secret), found.secret.generation, secrets

    assert on(url, opened) == (VALUE, 2, [WHSEC])
    assert run(rotate) == 0
    assert "0 secrets were sealed" in capsys.readouterr().err


def test_what_no_key_opens_is_told(sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By tenant and name; the exit code says that it is not done."""
    keys = tmp_path / "master.keys"
    keys.write_text(f"{NEW}\n")
    on(sqlite_url, stored)
    assert run(["secrets", "rotate-key", "--key-file", str(keys), "--database", sqlite_url]) == 1
    told = capsys.readouterr().err
    assert "acme: the master key old is not here" in told
    assert "acme: webhook crm" in told
    assert "2 do not open" in told


@pytest.mark.parametrize(
    ("keys", "code", "message"),
    [("", 69, "TOOLBUS_SECRETS_KEY"), ("short", 2, "TOOLBUS_SECRETS_KEY: key 1 has fewer than 32 characters")],
)
def test_without_keys_nothing_is_done(
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    keys: str,
    code: int,
    message: str,
) -> None:
    """From the environment where no file is named; what is wrong is said."""
    monkeypatch.setenv("TOOLBUS_SECRETS_KEY", keys)
    monkeypatch.setenv("TOOLBUS_DATABASE_URL", sqlite_url)
    assert run(["secrets", "rotate-key"]) == code
    assert message in capsys.readouterr().err


def test_a_database_that_is_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing counts as done, and no empty one is made."""
    monkeypatch.setenv("TOOLBUS_SECRETS_KEY", NEW)
    assert run(["secrets", "rotate-key", "--database", f"sqlite:///{tmp_path}/at.db"]) == 69
    assert not list(tmp_path.iterdir())
    assert run(["secrets", "rotate-key", "--database", "postgresql://nobody@127.0.0.1:1/nothing"]) == 69
