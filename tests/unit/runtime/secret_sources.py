"""A stream of sealed secrets of our own, and a source that says what it is told."""

from collections.abc import Mapping
from datetime import UTC, datetime

from tests.unit.api_caller.making import item
from toolbus_contracts import subjects
from toolbus_contracts.errors import Unavailable
from toolbus_contracts.secrets import PutSecret, RemovedSecret
from toolbus_contracts.work import WorkItem
from toolbus_runtime.bus.lookups import StoredMessage
from toolbus_runtime.bus.replies import STATUS, Reply
from toolbus_runtime.sealing import KeyRing, seal
from toolbus_runtime.secrets.resolver import Resolver
from toolbus_runtime.secrets.sources import Found

KEYS = KeyRing("k1 " + "m" * 44)
VALUE = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"


def sealed(tenant: str, name: str, generation: int, secret: PutSecret, *, keys: KeyRing = KEYS) -> bytes:
    """The message that holds a secret."""
    return seal(keys.current(), tenant, secret, name=name, generation=generation).model_dump_json().encode()


def removed(name: str, generation: int) -> bytes:
    """The message that says that there is none any more."""
    return RemovedSecret(name=name, generation=generation).model_dump_json().encode()


class FakeStream:
    """
    What lies on the subjects of SECRETS; a replica that `lags` knows nothing yet, a bus that `is_away` says so.

    One that was lost and `is_filled` no more lacks the mark.
    """

    def __init__(self, messages: Mapping[tuple[str, str], bytes]) -> None:
        self.messages = {subjects.secret(*place): data for place, data in messages.items()}
        self.lags = False
        self.is_away = False
        self.is_filled = True

    async def request(self, subject: str, data: bytes, *, timeout_s: float) -> Reply:
        """A direct read by subject."""
        assert (data, timeout_s > 0) == (b"", True)
        if self.is_away:
            raise Unavailable("the bus is away")
        found = self.messages.get(subject.removeprefix("$JS.API.DIRECT.GET.SECRETS."))
        return Reply(b"", {STATUS: "404"}) if found is None or self.lags else Reply(found, {})

    async def last_message(self, stream: str, subject: str) -> StoredMessage | None:
        """What the leader knows."""
        assert stream == subjects.SECRETS
        found = b"" if subject == subjects.SECRETS_FILLED and self.is_filled else self.messages.get(subject)
        return None if found is None else StoredMessage({}, found, 1, subject, datetime(2030, 1, 1, tzinfo=UTC))


class FakeSource:
    """Secrets by name, whoever asks."""

    def __init__(self, **found: Found | str) -> None:
        self.found = {name: one if isinstance(one, Found) else Found(one) for name, one in found.items()}

    async def find(self, tenant: str, name: str) -> Found | None:
        """What it was told."""
        assert tenant == "acme"
        return self.found.get(name)

    def place(self, tenant: str, name: str) -> str:
        """A place of its own."""
        return f"the drawer of {tenant} under {name}"


def resolver(**found: Found | str) -> Resolver:
    """One with a single source, which knows these."""
    return Resolver((FakeSource(**found),))


def work() -> WorkItem:
    """A work item of the tenant acme, for the tool `tool`."""
    return item({})
