"""Redaction: every way in which a target may write a secret, and what becomes of it."""

import base64
import json

import pytest

from tests.secret_forms import FORMS, forms_found
from toolbus_contracts.calls import CallError, Detail, ResponseExcerpt
from toolbus_contracts.executing.escapes import MAX_KEPT, Meanings
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.redacting import redacted
from toolbus_contracts.executing.redaction import MAX_EFFORT, WINDOW_BYTES, RedactionFailed, Redactor
from toolbus_contracts.tools import Terms
from toolbus_contracts.values import Json

PLAIN = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
AWKWARD = 'pä"ss w/ö+rd<\\&%41>=\U0001f511 end'
SHORT = "p4ss"
WRITE = Terms()
READ = Terms(effect="read", idempotency="native", is_asserted=True)


def redactor(*values: str) -> Redactor:
    """One that knows these as `key1`, `key2` and so on."""
    return Redactor((f"key{number}", value) for number, value in enumerate(values, start=1))


@pytest.mark.parametrize("value", [PLAIN, AWKWARD, SHORT])
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_found_in_every_form(form: str, value: str) -> None:
    """Whatever stands around it stays, and nothing of the value does."""
    written = FORMS[form](value)
    found = redactor(value).in_bytes(b'{"before":1,"x":' + written + b',"after":2}')
    assert b"[secret:key1]" in found, written
    assert found.startswith(b'{"before":1,"x":')
    assert found.endswith(b',"after":2}')
    assert forms_found(found, value) == []


@pytest.mark.parametrize("ahead", range(4))
@pytest.mark.parametrize("behind", range(4))
def test_no_bit_of_a_secret_is_left_in_base64(ahead: int, behind: int) -> None:
    """Characters that hold some bits of it and some of its neighbours go too: all that is left are the neighbours."""
    text = base64.b64encode(b"\xff" * ahead + PLAIN.encode() + b"\xff" * behind)
    before, after = redactor(PLAIN).in_bytes(text).split(b"[secret:key1]")
    assert set(before) <= set(b"/")
    assert set(after) <= set(b"/8w=")  # 8 and w: the last bits of what follows, filled up with zeros
    assert len(before) == ahead * 8 // 6


def test_what_holds_no_secret_is_the_same_object() -> None:
    """Nothing is copied where nothing is found."""
    data = json.dumps({"a": "100% & \\u0041", "b": [1, None]}).encode()
    assert redactor(PLAIN).in_bytes(data) is data
    text = "nothing here"
    assert redactor(PLAIN).in_text(text) is text


def test_nothing_is_looked_for_when_there_are_no_secrets() -> None:
    """A redactor of nothing is false, and lets everything through as it is."""
    nothing = Redactor()
    value = {"a": PLAIN}
    assert not nothing
    assert nothing.in_json(value) is value
    assert nothing.in_bytes(b"x") == nothing.in_broken(b"x") == b"x"
    assert nothing.in_text(PLAIN) == PLAIN
    assert nothing.names_in(PLAIN.encode()) == frozenset()


def test_of_secrets_that_overlap_the_longest_gives_its_name() -> None:
    """A secret that is a part of another one does not leave the rest of that one behind."""
    both = redactor(PLAIN, PLAIN[3:10], PLAIN[-6:] + "xyz")
    assert both.in_text(f"a {PLAIN}xyz b {PLAIN[3:10]}") == "a [secret:key1] b [secret:key2]"
    assert both.in_text(PLAIN[3:10] + PLAIN[3:10]) == "[secret:key2][secret:key2]"
    assert both.names_in(PLAIN.encode()) == {"key1", "key2"}


def test_a_secret_is_found_across_the_windows_of_a_search() -> None:
    """Large bodies are searched in pieces, and none falls between two; one that is found twice is taken out once."""
    for shift in (1, 10, len(PLAIN)):
        data = b"." * (WINDOW_BYTES - shift) + PLAIN.encode() + b"." * WINDOW_BYTES + PLAIN.encode()
        found = redactor(PLAIN).in_bytes(data)
        assert found.count(b"[secret:key1]") == 2
        assert len(found) == len(data) - 2 * (len(PLAIN) - len("[secret:key1]"))


def test_what_broke_off_loses_its_end() -> None:
    """Where reading stopped, the first half of a secret may stand: so much is left out that none can."""
    only = redactor(PLAIN)
    for cut in range(1, len(PLAIN)):
        assert PLAIN[:cut].encode() not in only.in_broken(b"-" * 4000 + PLAIN[:cut].encode())
    assert only.in_broken(b"-" * 4000).startswith(b"-" * 1000)
    assert only.in_broken(PLAIN.encode()) == b""


def test_what_broke_off_loses_its_end_however_much_was_found_before() -> None:
    """A mark is shorter than what it stands for: the end is measured in what was said, not in what is left of it."""
    only = redactor(PLAIN)
    left = 60 - only.widest_bytes // len(PLAIN)
    for cut in range(1, len(PLAIN)):
        assert only.in_broken(PLAIN.encode() * 60 + PLAIN[:cut].encode()) == b"[secret:key1]" * left


def test_what_broke_off_ends_with_no_part_of_what_was_found() -> None:
    """Where the end that is left out begins inside of a secret, that goes with it."""
    only = redactor(PLAIN)
    for inside in range(1, len(PLAIN)):
        said = b"-" * 100 + PLAIN.encode() + b"-" * (only.widest_bytes - inside)
        assert only.in_broken(said) == b"-" * 100
    assert only.in_broken(b"-" * 100 + PLAIN.encode() + b"-" * only.widest_bytes) == b"-" * 100 + b"[secret:key1]"


def test_a_secret_is_found_in_latin_1() -> None:
    """As old systems write it, when it can be written so."""
    assert redactor("p\u00e4ssw\u00f6rd").in_bytes(b"<p\xe4ssw\xf6rd>") == b"<[secret:key1]>"


@pytest.mark.parametrize("value", ["\u0441\u0435\u043a\u0440\u0435\u04422026", "2\u20ac0\U0001f51126", "2026\u0144"])
def test_what_is_left_of_a_secret_without_some_letters_is_none(value: str) -> None:
    """Ordinary text would be taken apart."""
    text = "in 2026, for 20260 of them"
    assert redactor(value).in_text(text) is text
    assert redactor(value).in_text(f"<{value}>") == "<[secret:key1]>"


IN_EVERY_WAY = b"%2525252541 &amp;amp;amp;amp;#65; \\\\\\\\u0041 %26amp%3b %5c\\u0026lt; &#37;41 " * 40_000
HERE_AND_THERE = (IN_EVERY_WAY[: len(IN_EVERY_WAY) // 40_000] + b"x y " * 1000) * 2_500


@pytest.mark.parametrize(
    "data", [b"%41" * (MAX_EFFORT + 1), PLAIN.encode() * (MAX_EFFORT // 10 + 1), IN_EVERY_WAY, HERE_AND_THERE]
)
def test_searching_has_an_end(data: bytes) -> None:
    """A target that makes it costly is not searched to the end, and so not heard."""
    with pytest.raises(RedactionFailed):
        redactor(PLAIN).in_bytes(data)


def test_a_short_text_may_be_escaped_in_every_way() -> None:
    """Beside much that is not escaped at all, as a traitor would do it, every form is found."""
    for value in (PLAIN, AWKWARD):
        said = b"x" * 200_000 + b"\n".join(write(value) for write in FORMS.values())
        assert forms_found(redactor(value).in_bytes(said), value) == []


@pytest.mark.parametrize("escape", [b"%C3", b"\\u043f", b"\\n", b"&lt;", b"&eacute;", b"%20"])
def test_escapes_of_other_characters_are_no_effort(escape: bytes) -> None:
    """A long text in another script, or full of line ends, is searched to its end."""
    data = escape * (MAX_EFFORT + 1) + b'"' + FORMS["JSON, every character"](PLAIN)
    assert redactor(PLAIN).in_bytes(data) == escape * (MAX_EFFORT + 1) + b'"[secret:key1]'


def test_meanings_of_escapes_are_kept_within_bounds() -> None:
    """A target can write each in many ways."""
    meanings = Meanings(lambda escape: escape[-1:], frozenset(b"0123456789"))
    for number in range(2 * MAX_KEPT):
        assert meanings[f"%{number}".encode()] == str(number)[-1].encode()
        assert meanings[f"%{number}x".encode()] == f"%{number}x".encode()
    assert len(meanings) <= MAX_KEPT


def test_many_secrets_are_looked_for_at_once() -> None:
    """Each of a thousand is found in every form, among them some that begin alike and short ones."""
    values = [f"{PLAIN[: number % 20]}{number}-{number * 7919}" for number in range(1000)]
    many = redactor(*values)
    for number in range(0, 1000, 97):
        for name, write in FORMS.items():
            found = many.in_bytes(b'{"x":' + write(values[number]) + b"}")
            assert f"[secret:key{number + 1}]".encode() in found, name
    clean = b"nothing of that kind " * 1000
    assert many.in_bytes(clean) is clean


PEM = "\n".join(
    (
        "-----BEGIN PRIVATE KEY-----",
        *(f"{number}".join("MIIEvQIBADANBgkqh") for number in range(1, 5)),
        "-----END PRIVATE KEY-----",
        "",
    )
)
BODY = PEM.splitlines()[1:-1]


@pytest.mark.parametrize(
    "value",
    [PEM, PEM.replace("\n", "\r\n"), json.dumps({"type": "account", "private_key": PEM}), PEM.replace("\n", "\n  ")],
)
@pytest.mark.parametrize("form", FORMS)
def test_each_line_of_a_secret_is_one_itself(form: str, value: str) -> None:
    """Whoever prints a key file line by line, or as one line, shows nothing of it, whatever its line ends are."""
    if form in {"hex", "HEX", "UTF-16"} or "base64" in form or form == "basic":
        return  # nobody writes a single line like this
    for line in BODY:
        found = redactor(value).in_bytes(b"> " + FORMS[form](line) + b" <")
        assert b"[secret:key1]" in found
        assert forms_found(found, line) == []
    for joint in ("", "\r\n", " ", "\\n", "\n> "):
        found = redactor(value).in_bytes(FORMS[form](joint.join(BODY)))
        assert not [line for line in BODY if forms_found(found, line)]


def test_lines_that_are_no_secret_are_left() -> None:
    """The first and the last of a key are the same in everybody's; short ones stand anywhere."""
    only = redactor(PEM + "yes: true\n")
    text = "-----BEGIN PRIVATE KEY-----\nof somebody else\n-----END PRIVATE KEY-----\nyes: true"
    assert only.in_text(text) == text
    assert redactor("a line of its own").in_text("a line of") == "a line of"


def test_values_of_all_kinds_are_cleaned() -> None:
    """In keys, texts, numbers, at any depth; what is no text stays what it is."""
    value: Json = {
        f"a {PLAIN}": [{"b": AWKWARD}, ("c", PLAIN)],
        "n": [12345678, 1.5, True, None, "x"],
    }
    assert redactor(PLAIN, AWKWARD, "12345678").in_json(value) == {
        "a [secret:key1]": [{"b": "[secret:key2]"}, ["c", "[secret:key1]"]],
        "n": ["[secret:key3]", 1.5, True, None, "x"],
    }


def test_a_secret_that_spans_several_values_cannot_be_taken_out() -> None:
    """A secret that is JSON itself and comes back as JSON: then the whole is not told."""
    account = '"id":"x1","key":"abc"'
    with pytest.raises(RedactionFailed):
        redactor(account).in_json({"id": "x1", "key": "abc"})


def test_outcomes_are_cleaned_everywhere() -> None:
    """Output and large parts; message, details, headers and excerpt of an error."""
    good = Outcome("succeeded", output={"a": PLAIN}, large={"json": PLAIN.encode()}, retry_after_s=None)
    found = redacted(good, redactor(PLAIN), WRITE)
    assert (found.result, found.output, found.large) == (
        "succeeded",
        {"a": "[secret:key1]"},
        {"json": b"[secret:key1]"},
    )
    excerpt = ResponseExcerpt(status_code=500, headers={"x": PLAIN}, body_excerpt=PLAIN)
    error = CallError(
        code="http_status", message=PLAIN, details=(Detail(path="/a", message=PLAIN),), response=excerpt, retryable=True
    )
    bad = redacted(Outcome("failed", error=error, retry_after_s=3.0), redactor(PLAIN), WRITE)
    assert bad.error is not None
    assert PLAIN not in bad.error.model_dump_json()
    assert bad.error.model_dump_json().count("[secret:key1]") == 4
    assert (bad.error.retryable, bad.retry_after_s) == (True, 3.0)
    assert redacted(good, Redactor(), WRITE) is good


def test_what_cannot_be_searched_is_not_told() -> None:
    """Half a surrogate pair has no bytes to search: the output is dropped, and the call says what became of it."""
    broken = Outcome("succeeded", output={"a": "\ud800" + PLAIN}, large={"json": b"x"})
    for terms, happened in ((WRITE, "yes"), (READ, "no")):
        found = redacted(broken, redactor(PLAIN), terms)
        assert (found.result, found.output, found.large) == ("failed", None, {})
        assert found.error is not None
        assert (found.error.code, found.error.effect_happened) == ("redaction_failed", happened)
        assert PLAIN not in repr(found)


@pytest.mark.parametrize(("code", "told"), [("timeout", "timeout"), ("\ud800", "redaction_failed")])
def test_an_error_that_cannot_be_searched_keeps_what_we_know_ourselves(code: str, told: str) -> None:
    """Its code, when it is one of ours, and whether the effect happened; what the target said is gone."""
    error = CallError(code=code, message="\ud800" + PLAIN, retryable=True, effect_happened="unknown")
    found = redacted(Outcome("unknown", error=error, retry_after_s=2.0), redactor(PLAIN), WRITE)
    assert (found.result, found.retry_after_s) == ("unknown", 2.0)
    assert found.error is not None
    assert (found.error.code, found.error.retryable, found.error.effect_happened) == (told, True, "unknown")
    assert "dropped" in found.error.message
