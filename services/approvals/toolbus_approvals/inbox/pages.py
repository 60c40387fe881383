"""Templates and static files: read once, checked when they are built, told apart by their digests."""

import base64
import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import jinja2

from toolbus_approvals.inbox.visible import visible

HERE = Path(__file__).parent
MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True)
class StaticFile:
    """A file that browsers may load; `version` changes with its bytes."""

    body: bytes
    media_type: str
    version: str


@cache
def static_files() -> dict[str, StaticFile]:
    """The files under `/static/`, by name: licences and lists are not among them."""
    found: dict[str, StaticFile] = {}
    for path in sorted((HERE / "static").iterdir()):
        if path.suffix in MEDIA_TYPES:
            body = path.read_bytes()
            found[path.name] = StaticFile(body, MEDIA_TYPES[path.suffix], hashlib.sha256(body).hexdigest()[:16])
    return found


def static_url(name: str) -> str:
    """Where a file is loaded from; the address changes with its bytes, so it may be kept for ever."""
    return f"/static/{name}?v={static_files()[name].version}"


def integrity(name: str) -> str:
    """The digest by which a browser checks the file. Source: W3C Subresource Integrity."""
    return "sha256-" + base64.b64encode(hashlib.sha256(static_files()[name].body).digest()).decode()


def span(time: timedelta) -> str:
    """A length of time in words, in its largest unit."""
    seconds = max(0, int(time.total_seconds()))
    for length, one in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"), (1, "second")):
        if seconds >= length:
            count = seconds // length
            return f"{count} {one}{'' if count == 1 else 's'}"
    return "a moment"


def moment(at: datetime) -> str:
    """A time as people read it, in UTC."""
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")


@cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"visible": visible, "moment": moment, "span": span}
    made.globals |= {"static": static_url, "integrity": integrity}
    return made


def render(name: str, **values: object) -> str:
    """Fill a template."""
    return _templates().get_template(name).render(**values)
