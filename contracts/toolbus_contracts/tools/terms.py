"""What a tool does to the world, and whether anybody vouched for it."""

from typing import Literal

from toolbus_contracts.values import Message


class Contract(Message):
    """What a tool does to the world, and what a second time would do."""

    effect: Literal["read", "write", "external", "dangerous"]
    idempotency: Literal["required", "native", "best_effort", "none"]


class Terms(Message):
    """A contract together with whether anybody vouched for it: its owner, the HTTP method, or the provider."""

    effect: Literal["read", "write", "external", "dangerous"] = "write"
    idempotency: Literal["required", "native", "best_effort", "none"] = "none"
    is_asserted: bool = False
    provenance: Literal["definition", "method", "provider", "default"] = "default"

    @property
    def is_safe_to_repeat(self) -> bool:
        """True when running it twice is as good as once, and somebody vouched for that."""
        return self.is_asserted and (self.effect == "read" or self.idempotency in {"native", "required"})
