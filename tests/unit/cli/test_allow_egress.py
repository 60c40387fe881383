"""What calls may reach is said once, to `toolbus up` or in the environment, and arrives at the executor."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.unit.cli.conftest import Cli
from toolbus.embedded import serve
from toolbus.installation import Installation
from toolbus.options import UpOptions
from toolbus_api_caller.settings import ApiCallerSettings

LIST = "127.0.0.1:8700, *.corp.example"


def test_the_executor_is_told(tmp_path: Path) -> None:
    """In this process as a setting, in others as a variable; nobody else hears of it."""
    installation = Installation.open(UpOptions(data=tmp_path, allow_egress=LIST), 8700)
    assert ApiCallerSettings(**installation.settings("api_caller")).egress_allow == LIST
    assert installation.environment("api_caller")["TOOLBUS_EGRESS_ALLOW"] == LIST
    assert "egress_allow" not in installation.settings("dispatcher")


def test_the_environment_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the option the variable holds; with it the option does."""
    monkeypatch.setenv("TOOLBUS_EGRESS_ALLOW", "10.0.0.0/8")
    silent, told = (Installation.open(UpOptions(data=tmp_path, allow_egress=text), 8700) for text in ("", LIST))
    assert ApiCallerSettings(**silent.settings("api_caller")).egress_allow == "10.0.0.0/8"
    assert ApiCallerSettings(**told.settings("api_caller")).egress_allow == LIST


def test_nothing_is_allowed_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default opens nothing."""
    monkeypatch.delenv("TOOLBUS_EGRESS_ALLOW", raising=False)
    assert ApiCallerSettings().egress_allow == ""


def test_a_bad_list_starts_nothing(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither everything nor one service; the message names the entry."""
    done = cli("up", "--data", str(tmp_path / "data"), "--allow-egress", "10.0.0.0/8,*")
    assert (done.code, "'*' is refused" in done.err) == (2, True)
    assert not (tmp_path / "data").exists()
    monkeypatch.setenv("TOOLBUS_EGRESS_ALLOW", "127.1")
    with pytest.raises(ValidationError, match=r"'127\.1' is refused: IPv4"):
        ApiCallerSettings()


def test_a_service_says_which_setting_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the name of the variable, and without a traceback."""
    monkeypatch.setenv("TOOLBUS_EGRESS_ALLOW", "http://example.com")
    assert serve("api_caller") == 2
    told = capsys.readouterr().err
    assert "TOOLBUS_EGRESS_ALLOW" in told
    assert "leave the scheme away" in " ".join(told.split())
