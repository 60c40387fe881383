"""
The ways to write a secret that are looked for.

The value itself, base64 and base64url at each alignment (inside a longer text too), hex, UTF-16, and Latin-1 where that
has all of its characters; and each line of a value that has several, for whoever prints it line by line, with other
line ends, or without any.
"""

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

LEAST_LINE_CHARS: Final = 16  # of a line that counts as a secret of its own; `"type": "user"` is no longer than that
_BREAKS: Final = re.compile(r"[\r\n]+|\\[rn]")  # also as JSON writes them: a key file holds its key like this
_ARMOUR: Final = "-----"  # `-----BEGIN PRIVATE KEY-----`: the same in everybody's keys


class Form(NamedTuple):
    """One way to write a secret: its bytes, and whether a character before and after holds some bits of it."""

    text: bytes
    is_lower: bool = False
    before: bool = False
    after: bool = False


@lru_cache(maxsize=128)  # a secret is used by many calls; its forms are fourteen times as long
def forms_of(value: str) -> tuple[Form, ...]:
    """The ways to write a value that are looked for, each once."""
    raw = value.encode()
    found = {Form(raw), Form(raw.replace(b" ", b"+")), Form(raw.hex().encode(), is_lower=True)}
    found.add(Form(value.encode("utf-16-le")[:-1]))
    with suppress(UnicodeEncodeError):  # what it would be without its other letters is no secret, and stands anywhere
        found.add(Form(value.encode("latin-1")))
    for ahead in range(3):
        found.update(_base64_forms(raw, ahead))
    found.update(Form(line.encode()) for line in lines_of(value))
    return tuple(sorted(found, key=lambda form: (-len(form.text), form)))


def lines_of(value: str) -> Iterator[str]:
    """The lines of a value that has several, as far as each is long enough to be a secret itself."""
    lines = _BREAKS.split(value)
    for line in map(str.strip, lines if len(lines) > 1 else ()):
        if len(line) >= LEAST_LINE_CHARS and not line.startswith(_ARMOUR):
            yield line


def _base64_forms(raw: bytes, ahead: int) -> Iterator[Form]:
    """What base64 makes of the bytes wherever they stand `ahead` bytes behind a multiple of three."""
    bits = 8 * (ahead + len(raw))
    shared = (0, 2, 3)[ahead]  # characters that hold bits of what stands before
    text = base64.b64encode(bytes(ahead) + raw)[shared : bits // 6]
    for written in (text, text.translate(bytes.maketrans(b"+/", b"-_"))):
        yield Form(written, before=ahead > 0, after=bits % 6 > 0)
