"""What an attempt holds of secrets, and that nothing which leaves it says one."""

import json
import subprocess
import sys

import pytest

from tests.unit.runtime.secret_sources import VALUE, resolver, work
from toolbus_contracts.errors import Fault, Refused, Unavailable
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.redaction import MAX_EFFORT
from toolbus_contracts.executing.secrets import Secret
from toolbus_runtime.secrets.held import ConcealedError, HeldSecrets
from toolbus_runtime.secrets.known import KEPT_CHARS, KnownSecrets
from toolbus_runtime.secrets.sources import Found


async def held(**found: Found | str) -> HeldSecrets:
    """An attempt that resolved all of these."""
    made = HeldSecrets(resolver(**found), work())
    await made.resolve(found)
    return made


async def test_what_was_resolved_counts_for_the_digest_and_is_taken_out_of_outcomes() -> None:
    """Also when it was resolved in two goes."""
    made = HeldSecrets(resolver(a=Found(VALUE, 4), b="another value"), work())
    assert await made.resolve(["a"]) == {"a": Secret("a", VALUE, 4)}
    await made.resolve(["b"])
    assert made.generations == {"a": 4, "b": 0}
    outcome = Outcome("succeeded", output={"x": VALUE, "y": "another value"}, large={"z": VALUE.encode() * 20_000})
    found = await made.redacted(outcome)
    assert found.output == {"x": "[secret:a]", "y": "[secret:b]"}
    assert found.large == {"z": b"[secret:a]" * 20_000}


async def test_an_attempt_without_secrets_changes_nothing() -> None:
    """Outcomes and exceptions are the same objects."""
    made = HeldSecrets(resolver(), work())
    outcome, error = Outcome("succeeded", output={"x": VALUE}), RuntimeError(VALUE)
    assert await made.redacted(outcome) is outcome
    with pytest.raises(RuntimeError) as raised, made:
        raise error
    assert raised.value is error
    assert made.generations == {}


async def test_what_is_raised_on_purpose_keeps_its_kind_and_loses_the_value() -> None:
    """What led to it is cut off, because it is told with it."""
    with pytest.raises(Unavailable) as raised, await held(a=VALUE):
        raise Unavailable(f"no: {VALUE}", 7.0) from ValueError(VALUE)
    assert (str(raised.value), raised.value.message, raised.value.retry_after_s) == ("no: [secret:a]",) * 2 + (7.0,)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    with pytest.raises(Refused) as refused, await held(a=VALUE):
        raise Refused("request_invalid", "no", (Fault(f"/{VALUE}", VALUE),))
    assert refused.value.faults == (Fault("/[secret:a]", "[secret:a]"),)


async def test_a_fault_of_ours_is_told_without_the_value_and_with_its_traceback() -> None:
    """The exception itself holds the value, and goes no further."""
    with pytest.raises(ConcealedError) as raised, await held(a=VALUE):
        raise KeyError(VALUE)
    assert str(raised.value).startswith("KeyError: '[secret:a]'\nTraceback")
    assert "raise KeyError" in str(raised.value)
    assert VALUE not in str(raised.value)
    assert raised.value.__suppress_context__


async def test_an_exception_that_cannot_be_searched_says_nothing() -> None:
    """Half a surrogate pair has no bytes: its text is dropped whole."""
    with pytest.raises(Unavailable, match=r"^dropped: ") as raised, await held(a=VALUE):
        raise Unavailable("\ud800" + VALUE)
    assert VALUE not in str(raised.value)


async def test_an_end_from_outside_is_let_through() -> None:
    """Being stopped is no error, and says nothing."""
    with pytest.raises(KeyboardInterrupt), await held(a=VALUE):
        raise KeyboardInterrupt


async def test_lines_of_logs_are_searched_for_all_that_was_used_lately() -> None:
    """The oldest are forgotten first; one used again is as new."""
    known = KnownSecrets(kept=2)
    assert known.in_line("first-value") == "first-value"
    known.remember([Secret("a", "first-value"), Secret("b", "second-value")])
    known.remember([Secret("a", "first-value")])
    assert known.in_line("first-value, second-value") == "[secret:a], [secret:b]"
    known.remember([Secret("c", "third-value")])
    assert known.in_line("first-value, second-value, third-value") == "[secret:a], second-value, [secret:c]"
    known.remember([Secret("large", "x" * KEPT_CHARS)])
    assert known.in_line("first-value, third-value") == "first-value, third-value"  # all of them would be too much
    assert json.loads(known.in_line("\ud800")) == {
        "event": "log.dropped",
        "reason": "it could not be searched for secrets",
    }


def test_a_key_file_that_is_logged_line_by_line_shows_nothing() -> None:
    """A library, or a program, prints it as it likes; each of its lines is as good as the key."""
    body = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{number:032}" for number in range(9)]
    known = KnownSecrets()
    known.remember([Secret("pem", "\n".join(("-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----")))])
    for line in body:
        assert known.in_line(f"  | {line}") == "  | [secret:pem]"
        assert known.in_line(json.dumps({"line": f"{line}\n"})) == '{"line": "[secret:pem]\\n"}'


@pytest.mark.parametrize("is_broken", [False, True])
def test_what_a_program_says_is_searched_as_it_is_written(is_broken: bool) -> None:
    """In letters that are no UTF-8 too; what cannot be searched is not told, and what broke off not to its end."""
    known = KnownSecrets()
    assert known.in_said(b"p\xe4ss-w\xf6rd", is_broken=is_broken) == "p\ufffdss-w\ufffdrd"
    known.remember([Secret("old", "p\u00e4ss-w\u00f6rd")])
    said = known.in_said(b"p\xe4ss-w\xf6rd" + b"." * 1000 + b"p\xe4ss", is_broken=is_broken)
    assert said.startswith("[secret:old]...")
    assert said.endswith("." if is_broken else "p\ufffdss")
    assert json.loads(known.in_said(b"%41" * (MAX_EFFORT + 1), is_broken=is_broken))["event"] == "log.dropped"


LOGS = """
import logging
import structlog
from toolbus_contracts.executing.secrets import Secret
from toolbus_runtime.logging import configure_logging
from toolbus_runtime.secrets.known import KNOWN
from toolbus_runtime.settings import Settings

value = input()
KNOWN.remember([Secret("key", value)])
configure_logging(Settings(log_level="info"))
try:
    int(value)
except ValueError as error:
    logging.getLogger("library").exception("about %s", value)
    structlog.get_logger().error("call.failed", told=[value], exc_info=error)
"""


def test_libraries_and_services_log_no_secret() -> None:
    """Neither in text, nor in the traceback of an exception, whoever writes the line."""
    done = subprocess.run([sys.executable, "-c", LOGS], input=VALUE, capture_output=True, text=True, check=True)
    library, service = done.stderr.split("\n{")
    assert library.startswith("ERROR library about [secret:key]\nTraceback")
    assert library.endswith("invalid literal for int() with base 10: '[secret:key]'")
    line = json.loads("{" + service)
    assert (line["event"], line["told"]) == ("call.failed", ["[secret:key]"])
    assert "[secret:key]" in line["exception"]
    assert VALUE not in done.stderr
