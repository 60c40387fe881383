"""Laws of redaction: however a secret is written, in part or in layers, it does not come through."""

import base64
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from toolbus_contracts.executing.forms import LEAST_LINE_CHARS
from toolbus_contracts.executing.redaction import LEAST_CHARS, Redactor

Mask = list[bool]
ASCII = 127
Layer = Callable[[bytes, Mask], bytes]
values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=LEAST_CHARS, max_size=24)
printable = st.characters(
    min_codepoint=33, max_codepoint=0x2FF, exclude_characters="-\\\x7f", exclude_categories=["Cc", "Zs"]
)
masks = st.lists(st.booleans(), min_size=1, max_size=7)
surroundings = st.binary(max_size=12)


def url(data: bytes, mask: Mask) -> bytes:
    """Bytes as in a url: those of the mask are escaped, and what must be."""
    return b"".join(
        f"%{byte:02x}".encode() if byte in b"% &+#" or byte > ASCII or mask[at % len(mask)] else bytes([byte])
        for at, byte in enumerate(data)
    )


def json_text(data: bytes, mask: Mask) -> bytes:
    """Text as in JSON: characters of the mask as units of UTF-16, and what must be escaped."""
    found = []
    for at, character in enumerate(data.decode()):
        if mask[at % len(mask)]:
            raw = character.encode("utf-16-be").hex()
            found += [f"\\u{raw[start : start + 4]}" for start in range(0, len(raw), 4)]
        else:
            found.append({'"': '\\"', "\\": "\\\\", "\n": "\\n"}.get(character, character))
    return "".join(found).encode()


def html_text(data: bytes, mask: Mask) -> bytes:
    """Text as in HTML: characters of the mask by number, and what must be escaped."""
    return "".join(
        f"&#{ord(character)};"
        if character in "&<>\"'" or (mask[at % len(mask)] and character.isprintable())
        else character
        for at, character in enumerate(data.decode())
    ).encode()


LAYERS: list[Layer] = [url, json_text, html_text]


@given(
    value=values,
    layers=st.lists(st.tuples(st.sampled_from(LAYERS), masks), max_size=3),
    before=surroundings,
    after=surroundings,
)
def test_layers_of_escapes_hide_nothing(
    value: str, layers: list[tuple[Layer, Mask]], before: bytes, after: bytes
) -> None:
    """Any character escaped or not, up to three times over, in any order of url, JSON and HTML."""
    written = value.encode()
    for layer, mask in layers:
        written = layer(written, mask)
    redactor = Redactor([("key", value)])
    found = redactor.in_bytes(b"<" + before + b"\n" + written + b"\n" + after)
    assert b"[secret:key]" in found
    assert written not in found


@given(
    lines=st.lists(st.text(printable, min_size=LEAST_LINE_CHARS, max_size=24), min_size=2, max_size=5),
    line_end=st.sampled_from(["\n", "\r\n", "\\n", "\n  "]),
    layers=st.lists(st.tuples(st.sampled_from(LAYERS), masks), max_size=3),
    before=surroundings,
)
def test_no_line_of_a_secret_comes_through(
    lines: list[str], line_end: str, layers: list[tuple[Layer, Mask]], before: bytes
) -> None:
    """Whichever is told alone, in any layers of escapes."""
    redactor = Redactor([("key", line_end.join(lines))])
    for line in lines:
        written = line.encode()
        for layer, mask in layers:
            written = layer(written, mask)
        found = redactor.in_bytes(b"<" + before + b"\n" + written)
        assert b"[secret:key]" in found
        assert written not in found


@given(value=values, before=surroundings, after=surroundings, is_url=st.booleans())
def test_base64_hides_nothing(value: str, before: bytes, after: bytes, is_url: bool) -> None:
    """Inside a longer text, wherever it stands in it."""
    encode = base64.urlsafe_b64encode if is_url else base64.b64encode
    found = Redactor([("key", value)]).in_bytes(encode(before + value.encode() + after))
    assert b"[secret:key]" in found


@given(
    value=st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=24, max_size=48),
    between=st.binary(max_size=3),
    times=st.integers(min_value=0, max_value=150),
    shown=st.integers(min_value=0, max_value=48),
)
def test_what_broke_off_begins_like_the_whole(value: str, between: bytes, times: int, shown: int) -> None:
    """However often the secret stands in it, and wherever it breaks off: no part of one is told as if it were none."""
    begun = (value.encode() + between) * times
    redactor = Redactor([("key", value)])
    found = redactor.in_broken(begun + value.encode()[:shown])
    assert redactor.in_bytes(begun + value.encode() + begun).startswith(found)


@given(value=values, data=st.binary(max_size=200))
def test_what_is_clean_stays_as_it_is(value: str, data: bytes) -> None:
    """Searching again what was searched finds nothing more, unless the marks themselves hold the secret."""
    redactor = Redactor([("key", value)])
    found = redactor.in_bytes(data + value.encode() + data)
    if not redactor.names_in(b"[secret:key]"):
        assert value.encode() not in found or redactor.names_in(data + b"[secret:key]" + data)
