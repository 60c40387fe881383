"""The master keys of `toolbus up`: a file that only its owner reads, told to whoever seals or opens secrets."""

import json
from pathlib import Path

from toolbus.installation import MASTER_KEYS, Installation
from toolbus.options import UpOptions
from toolbus_approvals.settings import ApprovalsSettings
from toolbus_integrations.settings import IntegrationsSettings
from toolbus_runtime.sealing import KeyRing


def test_an_installation_makes_one_and_keeps_it(tmp_path: Path) -> None:
    """Each has its own, of 256 random bits; later starts find it, and what else an operator put there."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = Installation.open(UpOptions(data=tmp_path / "a"), 8700)
    path = tmp_path / "a" / MASTER_KEYS
    assert path.stat().st_mode & 0o777 == 0o600
    key = KeyRing(path=path).current()
    assert len(key.text) >= 43
    path.write_text(f"mine {'m' * 40}\n{key.text}\n")
    second = Installation.open(UpOptions(data=tmp_path / "a"), 8700)
    settings = IntegrationsSettings(**second.settings("integrations"))
    assert [one.id for one in KeyRing.of(settings).all()] == ["mine", key.id]
    other = Installation.open(UpOptions(data=tmp_path / "b"), 8700)
    assert KeyRing(path=other.folder / MASTER_KEYS).current() != key
    assert "secrets_key" not in first.passwords


def test_who_seals_or_opens_is_told_where_it_lies(tmp_path: Path) -> None:
    """In this process and in others; the dispatcher opens none."""
    installation = Installation.open(UpOptions(data=tmp_path), 8700)
    for service in ("approvals", "api_caller", "integrations"):
        assert installation.environment(service)["TOOLBUS_SECRETS_KEY_FILE"] == str(tmp_path / MASTER_KEYS)
    assert "TOOLBUS_SECRETS_KEY_FILE" not in installation.environment("dispatcher")


def test_the_key_of_an_older_installation_goes_on(tmp_path: Path) -> None:
    """It sealed the secrets of webhooks, and lies where passwords do."""
    (tmp_path / "services.json").write_text(json.dumps({"secrets_key": "f" * 43}))
    installation = Installation.open(UpOptions(data=tmp_path), 8700)
    settings = ApprovalsSettings(**installation.settings("approvals"))
    assert KeyRing.of(settings).current().text == "f" * 43
