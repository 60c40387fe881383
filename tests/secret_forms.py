"""The ways in which a target may write a secret, by name; made with the standard library, not with what finds them."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

Write = Callable[[str], bytes]
LEAST_BYTES = 4  # less stands anywhere by chance


def _base64(ahead: int, *, is_url: bool = False) -> Write:
    encode = base64.urlsafe_b64encode if is_url else base64.b64encode
    return lambda value: encode(b"abcdef"[: 3 + ahead] + value.encode() + b"=tail")


def _every(written: Callable[[str], str]) -> Write:
    """Each character written like this."""
    return lambda value: "".join(map(written, value)).encode()


def _units(character: str) -> str:
    raw = character.encode("utf-16-be").hex()
    return "".join(f"\\u{raw[at : at + 4]}" for at in range(0, len(raw), 4))


FORMS: dict[str, Write] = {
    "as it is": str.encode,
    "base64": lambda value: base64.b64encode(value.encode()),
    "base64 after 1": _base64(1),
    "base64 after 2": _base64(2),
    "base64 after 3": _base64(3),
    "base64url": lambda value: base64.urlsafe_b64encode(value.encode()).rstrip(b"="),
    "base64url after 1": _base64(1, is_url=True),
    "base64url after 2": _base64(2, is_url=True),
    "basic": lambda value: b"Basic " + base64.b64encode(b"user:" + value.encode()),
    "hex": lambda value: value.encode().hex().encode(),
    "HEX": lambda value: value.encode().hex().upper().encode(),
    "url": lambda value: quote(value, safe="").encode(),
    "url, in part": lambda value: quote(value).encode(),
    "form": lambda value: quote_plus(value).encode(),
    "url, every byte": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()).encode(),
    "url, every other": lambda value: "".join(
        f"%{byte:02X}" if at % 2 or byte > 127 else quote(chr(byte)) for at, byte in enumerate(value.encode())
    ).encode(),
    "url twice": lambda value: quote(quote(value, safe=""), safe="").encode(),
    "JSON": lambda value: json.dumps(value).encode(),
    "JSON in UTF-8": lambda value: json.dumps(value, ensure_ascii=False).encode(),
    "JSON for HTML": lambda value: json.dumps(value).replace("/", "\\/").replace("<", "\\u003C").encode(),
    "JSON, every character": _every(_units),
    "JavaScript, every byte": lambda value: "".join(f"\\x{byte:02x}" for byte in value.encode()).encode(),
    "JSON in JSON": lambda value: json.dumps(json.dumps({"said": value})).encode(),
    "HTML": lambda value: html.escape(value).encode(),
    "HTML, every character": _every(lambda character: f"&#{ord(character)};"),
    "HTML, hexadecimal": _every(lambda character: f"&#x{ord(character):X};"),
    "base64 in a url": lambda value: quote(base64.b64encode(b"x" + value.encode()), safe="").encode(),
    "HTML in JSON": lambda value: json.dumps(html.escape(value)).encode(),
    "JSON in a url": lambda value: quote(json.dumps(value), safe="").encode(),
    "UTF-16": lambda value: value.encode("utf-16-le"),
}


def forms_found(data: bytes, value: str) -> list[str]:
    """The names of all forms of the value that stand in the bytes, base64 at any alignment: what a test left behind."""
    return [name for name, needle in needles(value) if needle in data]


def needles(value: str) -> list[tuple[str, bytes]]:
    """What to look for when a value must not be anywhere: its forms, without what depends on their surroundings."""
    alone = [(name, write(value)) for name, write in FORMS.items() if "base64" not in name and name != "basic"]
    found = [(name, written.strip(b'"')) for name, written in alone]
    for ahead in range(3):
        text = base64.b64encode(bytes(ahead) + value.encode())[4 if ahead else 0 : -4]
        found.append((f"base64 after {ahead}", text))
        found.append((f"base64url after {ahead}", text.translate(bytes.maketrans(b"+/", b"-_"))))
    return [(name, needle) for name, needle in found if len(needle) >= LEAST_BYTES]
