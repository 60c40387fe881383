"""Webhooks: what they want to hear, the secrets that sign, and the state their events lead to."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from toolbus_contracts.webhooks import (
    AnyWebhookEvent,
    PutWebhook,
    Webhook,
    WebhookDefined,
    WebhookDisabled,
    WebhookEnabled,
    WebhookRemoved,
    WebhookSecretRotated,
    evolve_webhook,
    scheme_of,
    secret_bytes,
    view_webhook,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
DAY = timedelta(days=1)
DEFINED = WebhookDefined(name="crm", url="https://crm.example.com", events=("call.*", "wait.opened"), at=NOW)


def text(prefix: str, size: int) -> str:
    """A secret of so many bytes."""
    return prefix + base64.b64encode(bytes(range(size))).decode()


def rotated(secret_id: str, until: datetime | None = None) -> WebhookSecretRotated:
    """Another secret signs from now on."""
    return WebhookSecretRotated(name="crm", secret_id=secret_id, scheme="v1", former_until=until, at=NOW)


def folded(*events: AnyWebhookEvent) -> Webhook:
    """The state that events lead to."""
    webhook: Webhook | None = None
    for event in events:
        webhook = evolve_webhook(webhook, event)
    assert webhook is not None
    return webhook


@pytest.mark.parametrize(("prefix", "size"), [("whsec_", 24), ("whsec_", 64), ("whsk_", 32)])
def test_a_secret_stands_for_its_bytes(prefix: str, size: int) -> None:
    """Shared secrets have 24 to 64 bytes, private keys 32."""
    assert secret_bytes(text(prefix, size)) == bytes(range(size))


def test_a_private_key_may_carry_its_public_key() -> None:
    """Of 64 bytes the first 32 are the seed."""
    assert secret_bytes(text("whsk_", 64)) == bytes(range(32))


@pytest.mark.parametrize(
    "secret",
    ["", "geheim", text("whsec_", 23), text("whsec_", 65), text("whsk_", 33), "whsec_a", "whsec_äöü", "whsec_a b c d"],
)
def test_what_signs_nothing_safely_is_refused(secret: str) -> None:
    """Another prefix, no base64, or another length; the fault tells nothing of the secret."""
    with pytest.raises(ValidationError) as caught:
        PutWebhook(url="https://a.example.com", secret=secret)
    assert caught.value.errors()[0]["loc"] == ("secret",)


def test_a_secret_tells_how_it_signs() -> None:
    """HMAC or ed25519."""
    assert scheme_of(text("whsec_", 32)) == "v1"
    assert scheme_of(text("whsk_", 32)) == "v1a"


def test_a_secret_is_in_no_representation() -> None:
    """A command that is logged by mistake tells no secret."""
    secret = text("whsec_", 32)
    assert secret not in repr(PutWebhook(url="https://a.example.com", secret=secret))


@pytest.mark.parametrize("pattern", ["call", "call.*.v1", "CALL.*", "call.succeeded.v1", "*.call", ""])
def test_a_pattern_is_a_kind_a_category_or_everything(pattern: str) -> None:
    """Anything else would never match, and is refused when it is put."""
    with pytest.raises(ValidationError):
        PutWebhook(url="https://a.example.com", events=(pattern,))


@pytest.mark.parametrize(
    ("patterns", "kind", "wanted"),
    [
        (("call.*",), "call.succeeded", True),
        (("call.succeeded",), "call.succeeded", True),
        (("*",), "wait.opened", True),
        (("call.*",), "wait.opened", False),
        (("call.failed",), "call.succeeded", False),
        ((), "call.succeeded", False),
    ],
)
def test_a_webhook_hears_of_what_matches(patterns: tuple[str, ...], kind: str, *, wanted: bool) -> None:
    """One pattern is enough."""
    webhook = folded(DEFINED.model_copy(update={"events": patterns}))
    assert webhook.wants(kind) is wanted


def test_a_changed_secret_signs_beside_the_former_one_for_a_while() -> None:
    """Receivers that know only the former one go on until it ends."""
    webhook = folded(DEFINED, rotated("secret_1"), rotated("secret_2", NOW + DAY))
    assert [secret.id for secret in webhook.signing(NOW)] == ["secret_2", "secret_1"]
    assert [secret.id for secret in webhook.signing(NOW + DAY)] == ["secret_2"]


def test_no_more_than_two_secrets_sign() -> None:
    """The one before the former one has had its time."""
    until = NOW + DAY
    webhook = folded(DEFINED, rotated("secret_1"), rotated("secret_2", until), rotated("secret_3", until))
    assert [secret.id for secret in webhook.signing(NOW)] == ["secret_3", "secret_2"]


def test_a_former_secret_without_an_end_signs_no_more() -> None:
    """Nobody said how long: not at all."""
    webhook = folded(DEFINED, rotated("secret_1"), rotated("secret_2"))
    assert [secret.id for secret in webhook.signing(NOW)] == ["secret_2"]


def test_defining_anew_keeps_secrets_and_state() -> None:
    """Another url is no reason to sign otherwise, or to trust a receiver that was disabled."""
    disabled = WebhookDisabled(name="crm", reason="gone", at=NOW)
    elsewhere = DEFINED.model_copy(update={"url": "https://b.example.com"})
    webhook = folded(DEFINED, rotated("secret_1"), disabled, elsewhere)
    assert webhook.url == "https://b.example.com"
    assert [secret.id for secret in webhook.secrets] == ["secret_1"]
    assert webhook.disabled == disabled


def test_enabling_ends_what_disabled_it() -> None:
    """A person says that it works again."""
    disabled = WebhookDisabled(name="crm", reason="failing", note="nothing arrived", at=NOW)
    shown = view_webhook(folded(DEFINED, disabled), NOW)
    assert (shown.status, shown.disabled_reason, shown.note) == ("disabled", "failing", "nothing arrived")
    shown = view_webhook(folded(DEFINED, disabled, WebhookEnabled(name="crm", at=NOW)), NOW)
    assert (shown.status, shown.disabled_reason, shown.disabled_at, shown.note) == ("enabled", None, None, "")


def test_what_was_removed_and_put_again_begins_anew() -> None:
    """Its former secrets sign nothing."""
    removed = folded(DEFINED, rotated("secret_1"), WebhookRemoved(name="crm", at=NOW))
    assert not removed.is_there
    assert removed.secrets == ()
    again = evolve_webhook(removed, DEFINED)
    assert again is not None
    assert again.is_there
    assert again.secrets == ()


@pytest.mark.parametrize("event", [rotated("secret_1"), WebhookEnabled(name="crm", at=NOW)])
def test_a_stream_cut_at_its_head_tells_nothing(event: AnyWebhookEvent) -> None:
    """And does not fail."""
    assert evolve_webhook(None, event) is None
