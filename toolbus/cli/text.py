"""Making text from outside harmless for a terminal: what a tool answered may try to steer it."""

import json
import re
from datetime import UTC, datetime

# Control characters (C0, DEL, C1), half surrogates, separators of lines and paragraphs, marks that turn
# the direction of writing, the byte order mark, and tags that nothing shows.
_ACTIVE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
BEYOND_BMP = 0x10000


def printable(value: object) -> str:
    """One line of text in which every active character is written as its escape."""
    return _ACTIVE.sub(_escape, str(value))


def printable_lines(value: str) -> str:
    """Text of several lines in which every other active character is written as its escape."""
    return "\n".join(printable(line.expandtabs()) for line in value.split("\n"))


def _escape(found: re.Match[str]) -> str:
    char = found.group()
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    return f"\\x{code:02x}" if code <= 0xFF else _unicode(code)  # noqa: PLR2004 - the last two-digit code


def _unicode(code: int) -> str:
    if code < BEYOND_BMP:
        return f"\\u{code:04x}"
    code -= BEYOND_BMP
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that reads back as the same value and steers no terminal; other scripts stay readable."""
    separators = (",", ":") if indent is None else (",", ": ")
    written = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return _ACTIVE.sub(lambda found: found.group() if found.group() == "\n" else _unicode(ord(found.group())), written)


def time_of_day(moment: datetime | None) -> str:
    """A moment to the second, in UTC."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def age(moment: datetime) -> str:
    """How long ago a moment was; one that lies ahead (of a clock that is behind) is now."""
    seconds = max(0, round((datetime.now(UTC) - moment).total_seconds()))
    return f"{seconds} s" if seconds < 60 else duration(seconds)  # noqa: PLR2004 - a minute


def duration(seconds: float) -> str:
    """A length of time for people: three digits that matter. Less than none, by clocks that differ, is none."""
    seconds = max(0.0, seconds)
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds == 0:
        return "0 s"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"  # noqa: PLR2004 - two digits before the point
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s"
