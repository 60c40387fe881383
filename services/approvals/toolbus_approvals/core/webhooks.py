"""What is decided about webhooks: putting, changing secrets, disabling, enabling, removing."""

from datetime import datetime, timedelta
from typing import NamedTuple

from toolbus_contracts.catalogue import event_types
from toolbus_contracts.errors import Conflict, Fault, NotFound, Refused
from toolbus_contracts.values import pointer
from toolbus_contracts.webhooks import (
    AnyWebhookEvent,
    DisableReason,
    PutWebhook,
    Scheme,
    Webhook,
    WebhookDefined,
    WebhookDisabled,
    WebhookEnabled,
    WebhookRemoved,
    WebhookSecretRotated,
)

FORMER_FOR = timedelta(days=1)  # how long a former secret signs beside the new one
# Who opened a key or was refused on the bus is no other system's business.
SENT_CATEGORIES = frozenset({"call", "execution", "tool", "wait", "grant", "delegation", "webhook"})


class NewSecret(NamedTuple):
    """A secret that was put away under an id."""

    id: str
    scheme: Scheme
    public_key: str | None


def short_kind(kind: str) -> str:
    """A kind without its version: `call.succeeded` of `call.succeeded.v1`."""
    return kind.rpartition(".")[0]


def check_patterns(patterns: tuple[str, ...]) -> None:
    """
    Every pattern matches some kind of event that webhooks are told of.

    Raises:
        Refused: `invalid_request`, naming those that never would.
    """
    kinds = {short_kind(kind) for kind in event_types() if kind.partition(".")[0] in SENT_CATEGORIES}
    known = kinds | {f"{category}.*" for category in SENT_CATEGORIES} | {"*"}
    faults = tuple(
        Fault(pointer("events", index), "no event is called so")
        for index, pattern in enumerate(patterns)
        if pattern not in known
    )
    if faults:
        raise Refused("invalid_request", f"{faults[0].path}: {faults[0].message}", faults)


def decide_put(
    name: str, command: PutWebhook, webhook: Webhook | None, *, secret: NewSecret | None, now: datetime
) -> tuple[AnyWebhookEvent, ...]:
    """
    Define a webhook, or define it anew; `secret` is one that it does not have yet. The same again adds nothing.

    Raises:
        Refused: `invalid_request`, a pattern that matches no event.
        Conflict: it has no secret and none is given: somebody removed it a moment ago.
    """
    check_patterns(command.events)
    known = webhook if webhook is not None and webhook.is_there else None
    if known is None and secret is None:
        raise Conflict("version_mismatch", f"webhook {name} was removed meanwhile")
    events: list[AnyWebhookEvent] = []
    if known is None or (known.url, known.events) != (command.url, command.events):
        events.append(WebhookDefined(name=name, url=command.url, events=command.events, at=now))
    if secret is not None:
        events.append(_rotated(name, known, secret, now))
    return tuple(events)


def decide_rotate(
    name: str, webhook: Webhook | None, *, secret: NewSecret, now: datetime
) -> tuple[WebhookSecretRotated, ...]:
    """
    Sign with another secret, and with the former one beside it for a day.

    Raises:
        NotFound: there is no such webhook.
    """
    return (_rotated(name, existing(name, webhook), secret, now),)


def decide_disable(
    webhook: Webhook | None, *, reason: DisableReason, note: str, now: datetime
) -> tuple[WebhookDisabled, ...]:
    """Send nothing more; nothing to do when it is gone or disabled already."""
    if webhook is None or not webhook.is_there or webhook.disabled is not None:
        return ()
    return (WebhookDisabled(name=webhook.name, reason=reason, note=note, at=now),)


def decide_enable(name: str, webhook: Webhook | None, *, now: datetime) -> tuple[WebhookEnabled, ...]:
    """
    Send again; nothing to do when it was not disabled.

    Raises:
        NotFound: there is no such webhook.
    """
    return () if existing(name, webhook).disabled is None else (WebhookEnabled(name=name, at=now),)


def decide_remove(name: str, webhook: Webhook | None, *, now: datetime) -> tuple[WebhookRemoved, ...]:
    """
    Send nothing there any more.

    Raises:
        NotFound: there is no such webhook.
    """
    return (WebhookRemoved(name=existing(name, webhook).name, at=now),)


def existing(name: str, webhook: Webhook | None) -> Webhook:
    """
    The webhook, if it is there.

    Raises:
        NotFound: it was never put, or was removed.
    """
    if webhook is None or not webhook.is_there:
        raise NotFound(f"there is no webhook {name}")
    return webhook


def _rotated(name: str, webhook: Webhook | None, secret: NewSecret, now: datetime) -> WebhookSecretRotated:
    has_former = webhook is not None and webhook.secrets
    return WebhookSecretRotated(
        name=name,
        secret_id=secret.id,
        scheme=secret.scheme,
        public_key=secret.public_key,
        former_until=now + FORMER_FOR if has_former else None,
        at=now,
    )
