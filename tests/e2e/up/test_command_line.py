"""The command line against everything that `toolbus up` runs."""

import json
from pathlib import Path

import pytest

from tests.e2e.up.conftest import run
from tests.integration.http.system import until


def test_the_command_line_from_call_to_timeline(folder: Path) -> None:
    """Submit, look, list, draw; data on stdout alone."""
    done = run(folder, "call", "look", "--arg", "path=rome", "--wait", "30")
    assert (done.returncode, json.loads(done.stdout)["json"], done.stderr) == (0, {"path": "/rome"}, "")
    call_id = run(folder, "call", "look", "--arg", "path=oslo").stdout.strip()
    shown = run(folder, "calls", "show", call_id, "--wait", "30", "-o", "json")
    call = json.loads(shown.stdout)
    assert (call["status"], call["output"]["json"]) == ("succeeded", {"path": "/oslo"})
    listing = ("calls", "ls", "--tool", "look", "--status", "succeeded", "--all", "-o", "jsonl")
    until(lambda: call_id in {json.loads(line)["id"] for line in run(folder, *listing).stdout.splitlines()})
    drawn = run(folder, "exec", "show", call["execution_id"])
    assert drawn.returncode == 0
    assert all(part in drawn.stdout for part in ("✓", "call.succeeded", call_id))
    followed = run(folder, "exec", "show", call["execution_id"], "--follow", "-o", "jsonl")
    assert [json.loads(line)["kind"] for line in followed.stdout.splitlines()][-1] == "call.succeeded.v1"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["call", "look", "--arg", "path=bad", "--wait", "30"], 1, "toolbus calls show call_"),
        (["call", "look", "--arg", "path=x", "--arg", "n=three"], 2, "k:=JSON"),
        (["call", "look", "--args", "{"], 2, "not JSON"),
        (["call", "nothing_of_the_kind"], 3, "Register it"),
        (["calls", "show", "call_" + "0" * 32], 3, "Check the id"),
        (["calls", "ls", "--status", "happy"], 2, "status"),
        (["calls", "ls", "--cursor", "nonsense"], 2, "next_cursor"),
        (["keys", "create", "--subject", "nobody", "--scope", "read"], 2, "/subject"),
        (["exec", "show", "exec_" + "0" * 32], 3, "no execution"),
        (["tools", "show", "nothing_of_the_kind"], 3, "nothing_of_the_kind"),
        (["serve", "nothing_of_the_kind"], 2, "dispatcher"),
    ],
)
def test_exit_codes_say_what_went_wrong(folder: Path, arguments: list[str], code: int, told: str) -> None:
    """And stderr says what to do about it; stdout stays empty."""
    done = run(folder, *arguments)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert told in done.stderr


def test_what_was_applied_shows_no_difference(folder: Path) -> None:
    """Showing, comparing and applying agree with one another."""
    assert run(folder, "tools", "diff", "tools.yaml").returncode == 0
    shown = run(folder, "tools", "show", "look").stdout
    (folder / "shown.yaml").write_text(shown)
    assert "unchanged" in run(folder, "tools", "apply", "shown.yaml").stdout
    (folder / "changed.yaml").write_text(shown.replace("Looks something up", "Looks it up"))
    assert run(folder, "tools", "diff", "changed.yaml").returncode == 1


def test_the_doctor_finds_everything_well(folder: Path) -> None:
    """Server, key, and what the server says of itself."""
    done = run(folder, "doctor", "-o", "json")
    assert done.returncode == 0, done.stdout
    found = {check["name"]: check["ok"] for check in json.loads(done.stdout)["checks"]}
    assert {"server", "key", "store", "nats"} <= found.keys()
    assert all(found.values())


def test_the_log_is_tailed(folder: Path) -> None:
    """From a position, as many as asked for, by pattern."""
    done = run(folder, "tail", "--after", "0", "-n", "2", "--filter", "kind=tool.*", "-o", "jsonl")
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["tool.defined.v1"] * 2


def test_a_dry_run_records_nothing(folder: Path) -> None:
    """It tells whether the call would be accepted."""
    done = run(folder, "call", "look", "--arg", "path=dry", "--dry-run", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert run(folder, "calls", "show", json.loads(done.stdout)["id"]).returncode == 3
    assert run(folder, "call", "look", "--arg", "path=dry", "--dry-run", "--wait", "5").returncode == 0
    assert run(folder, "call", "look", "--dry-run").returncode == 2
