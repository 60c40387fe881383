"""
Webhooks: where other systems hear of events, signed after Standard Webhooks.

What is stored names secrets by their id, never by their value. Source: https://www.standardwebhooks.com.
"""

import base64
import binascii
from datetime import datetime
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter

from toolbus_contracts.values import Message

MAX_PATTERNS = 100
SEED_BYTES = 32  # of an ed25519 key
HMAC_BYTES = range(24, 65)  # Source: Standard Webhooks, "Signature scheme": 24 to 64 random bytes
HMAC_PREFIX = "whsec_"
PRIVATE_PREFIX = "whsk_"
PUBLIC_PREFIX = "whpk_"

WebhookName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
EventPattern: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^(\*|[a-z]+\.(\*|[a-z_]+))$", max_length=100),
    Field(description="a kind without its version (`call.succeeded`), all of a category (`call.*`), or `*`"),
]
Scheme = Literal["v1", "v1a"]
DisableReason = Literal["gone", "failing"]
DeliveryStatus = Literal["pending", "delivered", "failed", "held", "dropped"]


def secret_bytes(secret: str) -> bytes:
    """
    The key that a secret stands for: random bytes of `whsec_…`, or the ed25519 seed of `whsk_…`.

    A private key of 64 bytes is its seed with the public key behind it.

    Raises:
        ValueError: another prefix, no base64, or a length that does not fit.
    """
    prefix = next((known for known in (HMAC_PREFIX, PRIVATE_PREFIX) if secret.startswith(known)), None)
    if prefix is None:
        raise ValueError("a secret begins with whsec_ or whsk_")
    try:
        found = base64.b64decode(secret.removeprefix(prefix), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("what follows the prefix is no base64") from error
    if prefix == HMAC_PREFIX:
        if len(found) not in HMAC_BYTES:
            raise ValueError("a whsec_ secret has 24 to 64 bytes")
        return found
    if len(found) not in {SEED_BYTES, 2 * SEED_BYTES}:
        raise ValueError("a whsk_ secret has 32 or 64 bytes")
    return found[:SEED_BYTES]


def scheme_of(secret: str) -> Scheme:
    """How this secret signs: v1 is HMAC-SHA256, v1a is ed25519."""
    return "v1a" if secret.startswith(PRIVATE_PREFIX) else "v1"


def _check_secret(secret: str) -> str:
    secret_bytes(secret)
    return secret


WebhookSecretText: TypeAlias = Annotated[str, StringConstraints(max_length=200), AfterValidator(_check_secret)]


class PutWebhook(Message):
    """
    Send events that match to a url from now on; the name stands in the path.

    Without `secret` one is made and shown once, or the one that is there goes on. With another one the former signs
    beside it for a day, so that receivers may change over. Without `events` the webhook only lends its secrets to
    client functions.
    """

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$", max_length=8192)]
    events: tuple[EventPattern, ...] = Field((), max_length=MAX_PATTERNS)
    secret: WebhookSecretText | None = Field(None, repr=False, description="whsec_… (HMAC) or whsk_… (ed25519)")


class RotateWebhook(Message):
    """Sign with another secret, a made one unless given; the former one signs beside it for a day."""

    secret: WebhookSecretText | None = Field(None, repr=False, description="whsec_… (HMAC) or whsk_… (ed25519)")


class WebhookDefined(Message):
    """Events that match one of the patterns go to this url from now on."""

    kind: Literal["webhook.defined.v1"] = "webhook.defined.v1"
    name: str
    url: str
    events: tuple[str, ...]
    at: datetime


class WebhookSecretRotated(Message):
    """
    The webhook signs with this secret from now on, and with the former one until `former_until`.

    `public_key` (`whpk_…`) is what receivers of ed25519 signatures verify with.
    """

    kind: Literal["webhook.secret_rotated.v1"] = "webhook.secret_rotated.v1"
    name: str
    secret_id: str
    scheme: Scheme
    public_key: str | None = None
    former_until: datetime | None = None
    at: datetime


class WebhookDisabled(Message):
    """Nothing is sent any more: its url said that it is gone (410), or nothing arrived for five days."""

    kind: Literal["webhook.disabled.v1"] = "webhook.disabled.v1"
    name: str
    reason: DisableReason
    note: str = ""
    at: datetime


class WebhookEnabled(Message):
    """A person says that it works again; what was held meanwhile goes out only when asked for."""

    kind: Literal["webhook.enabled.v1"] = "webhook.enabled.v1"
    name: str
    at: datetime


class WebhookRemoved(Message):
    """Nothing goes there any more, and its secrets sign nothing."""

    kind: Literal["webhook.removed.v1"] = "webhook.removed.v1"
    name: str
    at: datetime


AnyWebhookEvent: TypeAlias = WebhookDefined | WebhookSecretRotated | WebhookDisabled | WebhookEnabled | WebhookRemoved
WebhookEvent: TypeAlias = Annotated[AnyWebhookEvent, Field(discriminator="kind")]
webhook_events: TypeAdapter[AnyWebhookEvent] = TypeAdapter(WebhookEvent)


class SigningSecret(Message):
    """A secret by its id; it signs until then, or for good."""

    id: str
    scheme: Scheme
    public_key: str | None
    since: datetime
    until: datetime | None = None


class Webhook(Message):
    """State of one webhook; the newest secret stands first."""

    name: str
    url: str
    events: tuple[str, ...]
    secrets: tuple[SigningSecret, ...] = ()
    defined_at: datetime
    disabled: WebhookDisabled | None = None
    removed_at: datetime | None = None

    @property
    def is_there(self) -> bool:
        """True until it was removed."""
        return self.removed_at is None

    def signing(self, now: datetime) -> tuple[SigningSecret, ...]:
        """The secrets that sign now, the newest first."""
        return tuple(secret for secret in self.secrets if secret.until is None or now < secret.until)

    def wants(self, short_kind: str) -> bool:
        """Whether events of this kind (`call.succeeded`, without version) go there."""
        category = short_kind.partition(".")[0]
        return any(pattern in {short_kind, f"{category}.*", "*"} for pattern in self.events)


def evolve_webhook(webhook: Webhook | None, event: AnyWebhookEvent) -> Webhook | None:
    """Apply one stored event to the state of a webhook."""
    match event:
        case WebhookDefined():
            secrets = webhook.secrets if webhook is not None and webhook.is_there else ()
            disabled = webhook.disabled if webhook is not None and webhook.is_there else None
            return Webhook(
                name=event.name,
                url=event.url,
                events=event.events,
                secrets=secrets,
                defined_at=event.at,
                disabled=disabled,
            )
        case _ if webhook is None:
            return None
        case WebhookSecretRotated():
            return webhook.model_copy(update={"secrets": _rotated(webhook, event)})
        case WebhookDisabled():
            return webhook.model_copy(update={"disabled": event})
        case WebhookEnabled():
            return webhook.model_copy(update={"disabled": None})
        case WebhookRemoved():
            return webhook.model_copy(update={"removed_at": event.at, "secrets": ()})
        case _:
            assert_never(event)


def _rotated(webhook: Webhook, event: WebhookSecretRotated) -> tuple[SigningSecret, ...]:
    """The new secret and the one before it; older ones have had their time."""
    new = SigningSecret(id=event.secret_id, scheme=event.scheme, public_key=event.public_key, since=event.at)
    former = [secret.model_copy(update={"until": event.former_until or event.at}) for secret in webhook.secrets[:1]]
    return (new, *former)


class WebhookView(Message):
    """A webhook as people see it, without the value of its secrets."""

    name: str
    url: str
    events: tuple[str, ...]
    status: Literal["enabled", "disabled"]
    disabled_reason: DisableReason | None
    disabled_at: datetime | None
    note: str
    secrets: tuple[SigningSecret, ...] = Field(description="ids of those that sign now, the newest first")
    defined_at: datetime


class NewWebhookView(WebhookView):
    """The answer to putting or rotating; `secret` is there only when it was made here, and only this once."""

    secret: str | None = Field(None, repr=False)


def view_webhook(webhook: Webhook, now: datetime) -> WebhookView:
    """Show a webhook."""
    disabled = webhook.disabled
    return WebhookView(
        name=webhook.name,
        url=webhook.url,
        events=webhook.events,
        status="enabled" if disabled is None else "disabled",
        disabled_reason=None if disabled is None else disabled.reason,
        disabled_at=None if disabled is None else disabled.at,
        note="" if disabled is None else disabled.note,
        secrets=webhook.signing(now),
        defined_at=webhook.defined_at,
    )


class DeliveryView(Message):
    """
    One message to one webhook, however often it was tried; `id` is its `webhook-id`.

    `held`: the webhook is disabled, and it goes out when asked for. `dropped`: the call needs no answer any more.
    """

    id: str
    webhook: str
    type: str
    url: str | None = Field(None, description="of a client's function; else the webhook's own")
    position: int | None = Field(description="of the event in the log; absent for a client's function")
    status: DeliveryStatus
    attempts: int
    created_at: datetime
    next_at: datetime | None
    last_at: datetime | None
    last_status_code: int | None
    last_error: str | None


class Resent(Message):
    """How many messages go out again."""

    deliveries: int
