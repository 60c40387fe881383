"""What a call was given leave to do, and by whom it waits to be given it."""

from datetime import datetime
from typing import Literal

from toolbus_contracts.values import Message


class Start(Message):
    """The recorded permission to make one attempt's effect."""

    attempt: int
    start_id: str
    start_by: datetime
    stop_by: datetime


class Standing(Message):
    """The wait that a call stands still for."""

    wait_id: str
    kind: Literal["approval", "function", "input"]
    digest: str
    since: datetime
    expires_at: datetime


class Approved(Message):
    """What was approved, by whom: the digest is compared again just before the effect."""

    wait_id: str
    digest: str
    by: tuple[str, ...]
