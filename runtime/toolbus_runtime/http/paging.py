"""Pages: newest first, by an opaque cursor that stands for a position in the log."""

import base64
import binascii

from toolbus_contracts.errors import Fault, Unreadable

MAX_LIMIT = 500
DEFAULT_LIMIT = 50
MAX_POSITION_DIGITS = 18


def position_in(text: str) -> int | None:
    """The place in the log that a text names in decimal digits; none when it names none, or one beyond 2^63."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_POSITION_DIGITS else None


def encode_cursor(position: int) -> str:
    """Write the cursor behind which the next page begins."""
    return base64.urlsafe_b64encode(f"p{position}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> int | None:
    """
    Read a cursor; none for the first page.

    Raises:
        Unreadable: `invalid_cursor`.
    """
    if not cursor:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        position = position_in(text[1:]) if text[:1] == "p" else None
    except (binascii.Error, ValueError):
        position = None
    if position is not None:
        return position
    message = "this cursor was not given out here"
    raise Unreadable("invalid_cursor", message, (Fault("/query/cursor", message),))
