"""Finding the server: what is given, else the environment, else what `toolbus up` left in this folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolbus.client.failures import NoServer

CREDENTIALS = Path(".toolbus") / "credentials.json"


@dataclass(frozen=True)
class Server:
    """Where the server is and what opens it. The key is left out of the representation."""

    url: str
    api_key: str
    found_in: str

    def __repr__(self) -> str:
        return f"Server(url={self.url!r}, found_in={self.found_in!r})"


def find_server(url: str | None, api_key: str | None, *, environ: Mapping[str, str], folder: Path) -> Server:
    """
    Settle on a server and a key.

    Each is taken from the argument, else from TOOLBUS_URL and TOOLBUS_API_KEY, else from
    `.toolbus/credentials.json` in `folder`. The key in that file is sent to the server that it belongs
    to and to no other.

    Raises:
        NoServer: one of the two was not found, or the file cannot be read.
    """
    wanted_url = url or environ.get("TOOLBUS_URL") or None
    wanted_key = api_key or environ.get("TOOLBUS_API_KEY") or None
    path = folder / CREDENTIALS
    if wanted_url and wanted_key:
        return Server(_checked(wanted_url), _clean(wanted_key), "arguments or environment")
    if not path.exists():
        raise _nothing(wanted_url, path)
    left_url, left_key = _read(path)
    found = _checked(wanted_url or left_url)
    if wanted_key is None and found != _checked(left_url):
        raise NoServer(
            f"no key for {found}: the one in {path} belongs to {left_url}",
            "Set TOOLBUS_API_KEY to a key of that server.",
        )
    return Server(found, _clean(wanted_key or left_key), str(path))


def _nothing(url: str | None, path: Path) -> NoServer:
    if url:
        return NoServer(f"no key for {url}: TOOLBUS_API_KEY is not set", "Set TOOLBUS_API_KEY to a key of that server.")
    return NoServer(
        f"no server is known: TOOLBUS_URL is not set and there is no {path}",
        "Start one here with `toolbus up`, or set TOOLBUS_URL and TOOLBUS_API_KEY.",
    )


def _read(path: Path) -> tuple[str, str]:
    try:
        left = json.loads(path.read_text("utf-8"))
        url, key = left["url"], left["api_key"]
    except OSError as error:
        raise NoServer(
            f"{path} cannot be read: {error.strerror}", "Use the account that ran `toolbus up`, or set TOOLBUS_API_KEY."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise NoServer(f"{path} holds no url and api_key", "Run `toolbus up` again, or remove the file.") from error
    if not isinstance(url, str) or not isinstance(key, str):
        raise NoServer(f"{path} holds no url and api_key", "Run `toolbus up` again, or remove the file.")
    return url, key


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise NoServer(f"{url!r} is not an address", "Write it as http://host:port or https://host.")
    return url.rstrip("/")


def _clean(key: str) -> str:
    """Take a key as it was pasted; a line break in it would break the header it is sent in."""
    found = key.strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise NoServer("the API key holds characters that no key has", "Paste the key again: tb_ and what follows.")
    return found
