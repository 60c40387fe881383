"""Published hashes and ids: these vectors never change, since others compute them too."""

import hashlib

from toolbus_contracts.digests import (
    call_id_for_key,
    call_id_for_message,
    digest,
    digest_bytes,
    execution_id_for_call,
    fingerprint,
)


def test_a_digest_is_sha256_over_rfc_8785() -> None:
    """Anybody can recompute it: keys sorted, numbers in their shortest form, no blanks."""
    canonical = '{"a":[1.5,10000000000,"é"],"b":null}'
    expected = "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
    assert digest({"b": None, "a": [1.5, 1e10, "é"]}) == expected
    assert digest_bytes(canonical.encode()) == expected


def test_a_fingerprint_tells_bodies_apart() -> None:
    """It is for our own comparison: equal bodies agree, others do not."""
    assert fingerprint({"a": 1}) == fingerprint({"a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert fingerprint({"a": 1, "b": [1]}) == fingerprint({"b": [1], "a": 1})


def test_the_id_of_a_call_with_a_key_follows_the_published_formula() -> None:
    """A publisher computes the id before it publishes."""
    expected = hashlib.sha256(b"key\nacme\norder-7").hexdigest()[:32]
    assert call_id_for_key("acme", "order-7") == f"call_{expected}" == "call_ff9f79e62b13af407e6f9d0e756e1f91"


def test_the_id_of_a_call_without_a_key_follows_the_message() -> None:
    """The same delivery gives the same id; a sequence given out twice after a roll-back gives another."""
    first = call_id_for_message("acme", "2026-01-01T00:00:00Z", 7, "2026-01-02T00:00:00Z")
    again = call_id_for_message("acme", "2026-01-01T00:00:00Z", 7, "2026-01-02T00:00:00Z")
    after_roll_back = call_id_for_message("acme", "2026-01-01T00:00:00Z", 7, "2026-01-03T00:00:00Z")
    expected = hashlib.sha256(b"message\nacme\n2026-01-01T00:00:00Z\n7\n2026-01-02T00:00:00Z").hexdigest()[:32]
    assert first == again == f"call_{expected}"
    assert after_roll_back != first


def test_a_bare_call_has_an_execution_of_its_own() -> None:
    """Its id is the call's id under another name, so nothing needs to be stored for it."""
    assert execution_id_for_call("call_0123") == "exec_0123"
