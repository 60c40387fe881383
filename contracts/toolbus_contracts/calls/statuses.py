"""The statuses of a call."""

from typing import Literal

CallStatus = Literal[
    "requested",
    "waiting",
    "dispatched",
    "running",
    "retrying",
    "in_doubt",
    "succeeded",
    "failed",
    "refused",
    "denied",
    "cancelled",
    "expired",
]
TERMINAL: frozenset[CallStatus] = frozenset({"succeeded", "failed", "refused", "denied", "cancelled", "expired"})
OPEN: tuple[CallStatus, ...] = ("requested", "waiting", "dispatched", "running", "retrying", "in_doubt")
