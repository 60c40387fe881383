"""Pages: newest first, by an opaque cursor that stands for a position in the log."""

import base64
import binascii

from toolbus_contracts.errors import Fault, Unreadable

MAX_LIMIT = 500
DEFAULT_LIMIT = 50


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
        if text[:1] == "p" and text[1:].isdigit() and len(text) < 20:  # noqa: PLR2004 - below 2^63
            return int(text[1:])
    except (binascii.Error, ValueError):
        pass
    message = "this cursor was not given out here"
    raise Unreadable("invalid_cursor", message, (Fault("/query/cursor", message),))
