"""Master keys: what secrets are sealed with, as an operator writes them down."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

LEAST_CHARS = 32  # so many random characters cannot be guessed
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")


@dataclass(frozen=True)
class MasterKey:
    """One master key: its id, which is written beside what it sealed, and the text that it is made of."""

    id: str
    text: str = field(repr=False)

    def bytes_for(self, purpose: str) -> bytes:
        """32 bytes for one purpose; those of another purpose cannot be told from them."""
        return hashlib.sha256(f"{purpose}\n{self.text}".encode()).digest()


def parse_master_keys(text: str) -> tuple[MasterKey, ...]:
    """
    The master keys that a text holds, the current one first; `id key` each, divided by commas or line breaks.

    A key without an id is known by a part of its hash. Empty lines, and lines that begin with #, are left out.

    Raises:
        ValueError: a key is shorter than 32 characters, or two have one id. The message holds no key.
    """
    found: dict[str, MasterKey] = {}
    for place, line in enumerate(_lines(text), start=1):
        name, _, key = line.rpartition(" ")
        name = name.strip() or hashlib.sha256(f"toolbus key id\n{key}".encode()).hexdigest()[:8]
        if len(key) < LEAST_CHARS:
            raise ValueError(f"key {place} has fewer than {LEAST_CHARS} characters")
        if not _ID.fullmatch(name):
            raise ValueError(f"key {place} has an id that is none: letters, digits and . _ -, at most 32")
        if name in found:
            raise ValueError(f"key {place} has an id that another one has")
        found[name] = MasterKey(name, key)
    return tuple(found.values())


def _lines(text: str) -> Iterator[str]:
    for line in re.split(r"[,\n]", text):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield stripped
