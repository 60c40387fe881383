"""How parameters of Cloudinary are written: transformations in urls, parameters of uploads, and their signature."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from pydantic import JsonValue

COMMA_SEPARATED: Final = frozenset({"tags", "allowed_formats"})
KEYS_AND_VALUES: Final = frozenset({"context", "metadata"})
# What a step of a transformation may name, and how it is written in a url.
# Source: https://cloudinary.com/documentation/transformation_reference
SHORT: Final = {
    "angle": "a",
    "aspect_ratio": "ar",
    "audio_codec": "ac",
    "audio_frequency": "af",
    "background": "b",
    "bit_rate": "br",
    "border": "bo",
    "color": "co",
    "color_space": "cs",
    "crop": "c",
    "default_image": "d",
    "delay": "dl",
    "density": "dn",
    "dpr": "dpr",
    "duration": "du",
    "effect": "e",
    "end_offset": "eo",
    "fetch_format": "f",
    "flags": "fl",
    "fps": "fps",
    "gravity": "g",
    "height": "h",
    "keyframe_interval": "ki",
    "opacity": "o",
    "overlay": "l",
    "page": "pg",
    "prefix": "p",
    "quality": "q",
    "radius": "r",
    "start_offset": "so",
    "streaming_profile": "sp",
    "transformation": "t",
    "underlay": "u",
    "video_codec": "vc",
    "video_sampling": "vs",
    "width": "w",
    "x": "x",
    "y": "y",
    "zoom": "z",
}
# Between the parts of a value that is a list.
BETWEEN: Final = {"angle": ".", "effect": ":", "flags": ".", "fps": "-", "radius": ":", "transformation": "."}
COLORS: Final = frozenset({"background", "color"})
TIMES: Final = frozenset({"duration", "end_offset", "start_offset"})  # 50% is written 50p
LAYERS: Final = frozenset({"overlay", "underlay"})
# What a layer that is text may say of its letters, in the order of the url; what stands behind a name is left out.
LETTERS: Final = {
    "font_family": "",
    "font_size": "",
    "font_weight": "normal",
    "font_style": "normal",
    "text_decoration": "none",
    "text_align": "",
    "stroke": "none",
}
SPACED: Final = ("letter_spacing", "line_spacing")
LETTER: Final = re.compile(r"[A-Za-z0-9 .-]+")
MEDIA: Final = frozenset({"image", "video", "subtitles"})
PLAIN: Final = re.compile(r"[^\s,/?#%\\]+")
RAW: Final = re.compile(r"[^\s?#\\]+")


def path_of(steps: list[dict[str, JsonValue]]) -> str:
    """
    The steps of a transformation as a part of a url: `c_fill,h_100,w_100/e_sepia`.

    Raises:
        ValueError: a name that is not known, or a value that only `raw_transformation` can hold.
    """
    return "/".join(filter(None, (_step(step) for step in steps)))


def _step(step: dict[str, JsonValue]) -> str:
    parts = sorted(_part(name, value) for name, value in step.items() if name != "raw_transformation" and value != "")
    raw = step.get("raw_transformation")
    if raw is not None:
        if not isinstance(raw, str) or not RAW.fullmatch(raw):
            raise ValueError("raw_transformation is text as it stands in a url")
        parts.append(raw)
    return ",".join(parts)


def _part(name: str, value: JsonValue) -> str:
    if name not in SHORT:
        raise ValueError(f"{name} is not offered; raw_transformation takes what the url takes")
    if isinstance(value, dict) and name in LAYERS:
        return f"{SHORT[name]}_{_layer(name, value)}"
    if isinstance(value, list) and name in BETWEEN:
        text = BETWEEN[name].join(map(str, value))
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(float(value)) if name == "keyframe_interval" and not isinstance(value, str) else str(value)
    else:
        raise ValueError(f"{name} must be text or a number; raw_transformation takes what the url takes")
    if name in COLORS:
        text = text.replace("#", "rgb:")
    if name in TIMES:
        text = text.replace("%", "p")
    if not PLAIN.fullmatch(text):
        raise ValueError(f"{name} holds what a url cannot; raw_transformation takes what the url takes")
    return f"{SHORT[name]}_{text}"


def _layer(name: str, layer: dict[str, JsonValue]) -> str:
    """A layer that is told by its parts: something at a url, letters, or what was uploaded before."""
    match layer:
        case {"url": str(url), **rest} if not rest:
            return "fetch:" + base64.urlsafe_b64encode(url.encode()).decode()
        case {"text": str(text), **rest} if rest.keys() <= {*LETTERS, *SPACED}:
            return ":".join(filter(None, ("text", _letters(name, rest), _escaped_twice(text))))
        case {"public_id": str(identity), **rest} if rest.keys() <= {"resource_type"}:
            kind, text = rest.get("resource_type", "image"), identity.replace("/", ":")
            if kind not in MEDIA or not PLAIN.fullmatch(text):
                raise ValueError(f"{name} names what a url cannot hold; raw_transformation takes what the url takes")
            return text if kind == "image" else f"{kind}:{text}"
    raise ValueError(f"{name} is a url, a text with a font, or a public_id, and no more than that")


def _letters(name: str, layer: dict[str, JsonValue]) -> str:
    """How the letters look, as one word: `Arial_32_bold`."""
    found = {key: str(value) for key, value in layer.items() if value is not None}
    words = [found[key] for key, usual in LETTERS.items() if found.get(key, usual) != usual]
    words += [f"{key}_{found[key]}" for key in SPACED if key in found]
    if words and not {"font_family", "font_size"} <= found.keys():
        raise ValueError(f"{name} has letters without font_family and font_size")
    if not all(LETTER.fullmatch(word.replace("_", " ")) for word in words):
        raise ValueError(f"{name} describes letters with what a url cannot hold")
    return "_".join(words)


def _escaped_twice(text: str) -> str:
    """Commas and slashes mean something in a transformation even when they are escaped once."""
    once = text.replace(",", "%2C").replace("/", "%2F")
    return quote(once, safe="/:")


def layer_urls(value: JsonValue) -> Iterator[str]:
    """Every url that a transformation has Cloudinary fetch a layer from."""
    if isinstance(value, list):
        for step in value:
            yield from layer_urls(step)
    elif isinstance(value, dict):
        for name in LAYERS & value.keys():
            match value[name]:
                case {"url": str(url)}:
                    yield url


def parameter(name: str, value: JsonValue) -> str:
    """
    A parameter of an upload as text; nothing for one that is not set.

    Raises:
        ValueError: a list or an object where Cloudinary takes none.
    """
    match value:
        case None:
            return ""
        case bool():
            return "1" if value else "0"
        case str() | int() | float():
            return str(value)
        case list() if name in COMMA_SEPARATED:
            return ",".join(map(str, value))
        case dict() if name in KEYS_AND_VALUES:
            return "|".join(f"{key}={_escaped(one)}" for key, one in value.items())
        case dict() if name in {"transformation", "eager"}:
            return path_of([value])
        case list() if name == "transformation" and (steps := _objects(value)) is not None:
            return path_of(steps)
        case list() if name == "eager" and (variants := _objects(value)) is not None:
            return "|".join(path_of([one]) for one in variants)
        case _:
            raise ValueError(f"{name} must be text, a number or a flag")


def _objects(values: list[JsonValue]) -> list[dict[str, JsonValue]] | None:
    objects = [one for one in values if isinstance(one, dict)]
    return objects if len(objects) == len(values) else None


def _escaped(value: JsonValue) -> str:
    text = json.dumps(value, separators=(",", ":")) if isinstance(value, list | dict) else str(value)
    return text.replace("=", "\\=").replace("|", "\\|")


def signature(fields: dict[str, str], secret: str) -> str:
    """
    What proves that who uploads knows the secret: SHA-1 over the parameters in order, `&` in them escaped.

    Source: https://cloudinary.com/documentation/authentication_signatures
    """
    parts = sorted(f"{name}={text}".replace("&", "%26") for name, text in fields.items())
    return hashlib.sha1(f"{'&'.join(parts)}{secret}".encode()).hexdigest()  # noqa: S324 the vendor's choice
