"""What is decided about webhooks."""

from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest

from toolbus_approvals.core.webhooks import (
    SENT_CATEGORIES,
    NewSecret,
    check_patterns,
    decide_disable,
    decide_enable,
    decide_put,
    decide_remove,
    decide_rotate,
)
from toolbus_contracts.catalogue import UNIONS
from toolbus_contracts.errors import Conflict, NotFound, Refused
from toolbus_contracts.subjects import PRIVATE_CATEGORIES
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
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SECRET = NewSecret("secret_1", "v1", None)
OTHER = NewSecret("secret_2", "v1a", "whpk_x")
PUT = PutWebhook(url="https://crm.example.com", events=("call.*",))


def put(webhook: Webhook | None = None, command: PutWebhook = PUT, secret: NewSecret | None = SECRET) -> Webhook:
    """The state after a webhook was put."""
    return after(webhook, decide_put("crm", command, webhook, secret=secret, now=NOW))


def after(webhook: Webhook | None, events: tuple[AnyWebhookEvent, ...]) -> Webhook:
    """The state that the events lead to."""
    found = reduce(evolve_webhook, events, webhook)
    assert found is not None
    return found


def test_a_new_webhook_is_defined_and_has_a_secret() -> None:
    """Nothing is ever sent unsigned."""
    events = decide_put("crm", PUT, None, secret=SECRET, now=NOW)
    assert events == (
        WebhookDefined(name="crm", url="https://crm.example.com", events=("call.*",), at=NOW),
        WebhookSecretRotated(name="crm", secret_id="secret_1", scheme="v1", former_until=None, at=NOW),
    )


def test_putting_the_same_again_adds_nothing() -> None:
    """A second time is the first one."""
    assert decide_put("crm", PUT, put(), secret=None, now=NOW) == ()


def test_other_events_define_it_anew_and_leave_the_secret() -> None:
    """Nobody has to change their secret for that."""
    command = PutWebhook(url="https://crm.example.com", events=("wait.opened",))
    (event,) = decide_put("crm", command, put(), secret=None, now=NOW)
    assert isinstance(event, WebhookDefined)
    assert event.events == ("wait.opened",)


def test_another_secret_lets_the_former_one_sign_for_a_day() -> None:
    """By putting it, or by rotating alone."""
    for events in (
        decide_put("crm", PUT, put(), secret=OTHER, now=NOW),
        decide_rotate("crm", put(), secret=OTHER, now=NOW),
    ):
        assert events == (
            WebhookSecretRotated(
                name="crm",
                secret_id="secret_2",
                scheme="v1a",
                public_key="whpk_x",
                former_until=NOW + timedelta(days=1),
                at=NOW,
            ),
        )


def test_a_webhook_that_was_removed_meanwhile_needs_a_secret_again() -> None:
    """Whoever put it believed that it had one."""
    removed = after(put(), decide_remove("crm", put(), now=NOW))
    with pytest.raises(Conflict):
        decide_put("crm", PUT, removed, secret=None, now=NOW)
    assert [secret.id for secret in put(removed, secret=OTHER).secrets] == ["secret_2"]


def test_a_pattern_that_never_matches_is_refused() -> None:
    """With the place of each; keys are nobody else's business."""
    with pytest.raises(Refused) as caught:
        check_patterns(("call.*", "call.suceeded", "wait.opened", "key.*", "*"))
    assert caught.value.code == "invalid_request"
    assert [fault.path for fault in caught.value.faults] == ["/events/1", "/events/3"]


def test_what_is_sent_are_categories_that_there_are() -> None:
    """And all of them but keys and what is stored for tools."""
    assert set(UNIONS) - SENT_CATEGORIES == PRIVATE_CATEGORIES


def test_disabling_needs_a_webhook_that_sends() -> None:
    """Whoever comes second, or too late, changes nothing."""
    events = decide_disable(put(), reason="gone", note="it answered 410", now=NOW)
    assert events == (WebhookDisabled(name="crm", reason="gone", note="it answered 410", at=NOW),)
    assert decide_disable(after(put(), events), reason="failing", note="", now=NOW) == ()
    assert decide_disable(None, reason="gone", note="", now=NOW) == ()
    removed = after(put(), decide_remove("crm", put(), now=NOW))
    assert decide_disable(removed, reason="gone", note="", now=NOW) == ()


def test_enabling_is_for_what_was_disabled() -> None:
    """Else nothing is to do."""
    disabled = after(put(), decide_disable(put(), reason="gone", note="", now=NOW))
    assert decide_enable("crm", disabled, now=NOW) == (WebhookEnabled(name="crm", at=NOW),)
    assert decide_enable("crm", put(), now=NOW) == ()


def test_what_is_not_there_can_be_neither_enabled_nor_removed_nor_rotated() -> None:
    """It was never put, or was removed."""
    events = decide_remove("crm", put(), now=NOW)
    assert events == (WebhookRemoved(name="crm", at=NOW),)
    for webhook in (None, after(put(), events)):
        with pytest.raises(NotFound):
            decide_enable("crm", webhook, now=NOW)
        with pytest.raises(NotFound):
            decide_remove("crm", webhook, now=NOW)
        with pytest.raises(NotFound):
            decide_rotate("crm", webhook, secret=OTHER, now=NOW)
