"""Tokens of function calls: read back as what they were made for, and by nobody without the key."""

import pytest

from toolbus_approvals.adapters.tokens import make_token, read_token
from toolbus_contracts.errors import NotAllowed, Unavailable

KEY = b"k" * 32
WAIT = "wait_" + "0a" * 16
TOKEN = make_token(KEY, "acme", WAIT)


def test_a_token_names_its_tenant_and_its_wait() -> None:
    """Made twice it is the same, so that it need not be kept."""
    assert read_token(KEY, TOKEN) == ("acme", WAIT)
    assert make_token(KEY, "acme", WAIT) == TOKEN
    assert TOKEN.startswith("wt_acme_0a0a")


@pytest.mark.parametrize(
    "text",
    [
        TOKEN[:-1],
        TOKEN + "0",
        TOKEN[:-1] + ("1" if TOKEN[-1] == "0" else "0"),
        TOKEN.replace("acme", "other"),
        TOKEN.replace("0a0a", "0a0b", 1),
        TOKEN.upper(),
        make_token(b"x" * 32, "acme", WAIT),
        "tb_acme_" + "0" * 97,
        "wt__",
        "",
    ],
)
def test_a_token_that_was_changed_is_none(text: str) -> None:
    """Another tenant, another wait, another key, a part cut off: each is refused alike."""
    with pytest.raises(NotAllowed) as refused:
        read_token(KEY, text)
    assert refused.value.code == "unauthenticated"


@pytest.mark.parametrize("key", [b"", b"guessable"])
def test_without_a_good_key_there_are_no_tokens(key: bytes) -> None:
    """Nobody could tell them from forged ones."""
    with pytest.raises(Unavailable):
        make_token(key, "acme", WAIT)
    with pytest.raises(Unavailable):
        read_token(key, TOKEN)
