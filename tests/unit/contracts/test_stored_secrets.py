"""Secrets as they are stored and sent: what is taken, what is shown, where it lies on the bus."""

import pytest
from pydantic import ValidationError

from toolbus_contracts import subjects
from toolbus_contracts.secrets import (
    MAX_VALUE_BYTES,
    PutSecret,
    RemovedSecret,
    SealedSecret,
    associated_data,
    is_credential,
    read_published,
)

SEALED = SealedSecret(name="a.b", generation=2, key_id="k", sealed="AAAA")


@pytest.mark.parametrize(
    "body",
    [
        {"value": ""},
        {"value": "abc"},
        {"value": "ä" * (MAX_VALUE_BYTES // 2 + 1)},
        {"value": "hunter2", "hosts": ["https://api.example.com"]},
        {"value": "hunter2", "hosts": ["API.example.com"]},
        {"value": "hunter2", "tools": ["no tool"]},
        {"value": ["hunter2"]},
        {"value": "hunter2", "note": "x"},
    ],
    ids=lambda body: str(body)[:60],
)
def test_what_does_not_fit_is_refused_and_not_repeated(body: dict[str, object]) -> None:
    """Not even the text of the error holds what was sent; the bound is in bytes."""
    with pytest.raises(ValidationError) as raised:
        PutSecret.model_validate(body)
    assert "hunter2" not in str(raised.value)


def test_hosts_may_have_a_wildcard_and_a_port() -> None:
    """As the allowances of the egress guard."""
    hosts = ("api.example.com", "*.example.com", "*.example.com:8443")
    assert PutSecret(value="x" * MAX_VALUE_BYTES, hosts=hosts).hosts == hosts


def test_a_value_is_not_shown_by_its_message_or_schema() -> None:
    """Logs show messages, and the OpenAPI document shows schemas."""
    assert "hunter2" not in repr(PutSecret(value="hunter2"))
    value = PutSecret.model_json_schema()["properties"]["value"]
    assert value["writeOnly"] is True
    assert not {"default", "examples"} & value.keys()


@pytest.mark.parametrize("secret", [SEALED, RemovedSecret(name="a.b", generation=2)], ids=lambda one: one.form)
def test_what_is_published_is_read_as_it_was(secret: SealedSecret | RemovedSecret) -> None:
    """A sealed secret, or that it was removed."""
    assert read_published(secret.model_dump_json().encode()) == secret


def test_a_message_that_is_none_of_ours_is_refused() -> None:
    """An executor must not guess."""
    with pytest.raises(ValueError, match="form"):
        read_published(b"{}")


def test_each_name_has_a_subject_of_its_own() -> None:
    """A dot may not be part of a token; two names never share a subject."""
    names = ("a.b", "a_b", "a-b", "a..b", "_")
    found = [subjects.secret("acme", name) for name in names]
    assert len(set(found)) == len(names)
    assert all(subject.count(".") == 3 for subject in found)
    assert [subjects.secret_of(subject) for subject in found] == [("acme", name) for name in names]
    assert subjects.tenant_of(found[0]) == "acme"


def test_all_that_a_secret_is_bound_to_is_authenticated() -> None:
    """A line each; a change of any is another text."""
    told = associated_data("acme", "pay", 3, hosts=("a", "b"), tools=("t",))
    assert told == b"acme\npay\n3\na,b\nt"
    assert associated_data("acme", "pay", 3) == b"acme\npay\n3\n\n"


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "apikey", "GITHUB_TOKEN"),
        *(
            "aws_secret_access_key",
            "FB_PAGE_TOKEN",
            "page_access_token",
            "climax_token",
            "next_auth_token",
            "PREVIOUS_TOKEN",
        ),
    ],
)
def test_names_of_credentials_are_known(name: str) -> None:
    """By all custom they carry a secret, in any case."""
    assert is_credential(name)
    assert is_credential(name.swapcase())


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "X-Team",
            "max_tokens",
            "Idempotency-Key",
            "tokenizer",
            "key",
            "Token-Limit",
            "max_token",
            "LLM_MAX_TOKEN",
        ),
        *("page_token", "Next-Token", "next_page_token", "x-next-page-token", "continuation-token"),
    ],
)
def test_other_names_are_none(name: str) -> None:
    """A word inside of another one is not that word; a token may be a piece of text, or a place in a list."""
    assert not is_credential(name)
    assert not is_credential(name.swapcase())
