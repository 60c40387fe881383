"""
The one way in which a url may name its host, and names that are refused without asking DNS.

Every library reads odd spellings in its own way; what could be read in two ways is not sent at all.
"""

import re
from typing import NamedTuple

from toolbus_contracts.egress.addresses import METADATA, parse_address
from toolbus_contracts.errors import Refused

PORTS = {"http": 80, "https": 443}
MAX_PORT = 65535
MAX_NAME_CHARS = 253
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY = re.compile(r"//(?P<authority>[^/?#]*)")
_HOST_PORT = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>.*))?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # a last label like this makes the host a number. Source: WHATWG URL §3.5

LOCAL = "this machine or its network"
SPELLINGS: dict[str, str] = {
    "scheme": "`http` and `https`, nothing else",
    "authority": "no user and password, no backslash, space, control character or `%` before the path",
    "ASCII": "other scripts as `xn--…`; no full-width digits or dots",
    "port": "1 to 65535, in decimal, without leading zeros",
    "IPv4": "a host that ends in a number is four decimal numbers without leading zeros: no `127.1`, `0x7f.1`, `017…`",
    "IPv6": "in brackets, valid, without a zone",
    "name": "labels of 1 to 63 letters, digits, `-` and `_`, 253 characters in all, at most one final dot",
}
# A name with a leading dot stands for everything below it.
NAMES: dict[str, tuple[str, ...]] = {
    METADATA: (
        *("metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal"),
        *("instance-data", "instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.platformequinix.com"),
        *("metadata.packet.net", "rancher-metadata"),
    ),
    LOCAL: (
        *("localhost", ".localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback", "broadcasthost"),
        *(".localdomain", ".localdomain4", ".localdomain6", ".local", ".internal", ".home.arpa", ".onion"),
    ),
}
_KIND = {name: kind for kind, names in NAMES.items() for name in names}


class Place(NamedTuple):
    """Where a url leads: the host in lower case, without brackets and final dot; `is_literal` for an address."""

    scheme: str
    host: str
    port: int
    is_literal: bool

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def denied(host: str, rule: str) -> Refused:
    """The refusal of a host, with the rule that it breaks."""
    return Refused("egress_denied", f"{_shown(host)} is not reached: {rule}")


def place_of(url: str) -> Place:
    """
    Where a url leads.

    Raises:
        Refused: `egress_denied`, it is not written in the one way that cannot be misread.
    """
    scheme = _SCHEME.match(url)
    if scheme is None or (name := scheme["scheme"].lower()) not in PORTS:
        raise denied(url.partition("://")[0], f"scheme: {SPELLINGS['scheme']}")
    found = _AUTHORITY.match(url, scheme.end())
    authority = "" if found is None else found["authority"]
    if not authority or any(char in "@\\%" or char <= " " or char == "\x7f" for char in authority):
        raise denied(authority.rpartition("@")[2], f"authority: {SPELLINGS['authority']}")
    if not authority.isascii():
        raise denied(authority, f"ASCII: {SPELLINGS['ASCII']}")
    parts = _HOST_PORT.fullmatch(authority.lower())
    if parts is None or not (parts["port"] is None or is_port(parts["port"])):
        raise denied(authority, f"port: {SPELLINGS['port']}")
    host, is_literal = read_host(parts["host"])
    return Place(name, host, int(parts["port"] or PORTS[name]), is_literal)


def is_port(text: str) -> bool:
    """Whether a text is a port: 1 to 65535, in decimal, without leading zeros."""
    return _PORT.fullmatch(text) is not None and int(text) <= MAX_PORT


def read_host(host: str) -> tuple[str, bool]:
    """
    A host in lower case and ASCII without its brackets or final dot, and whether it is an address.

    Raises:
        Refused: `egress_denied`, it is not written in the one way that cannot be misread.
    """
    if host.startswith("["):
        inner = host[1:-1]
        if ":" not in inner or not host.endswith("]") or parse_address(inner) is None:
            raise denied(host, f"IPv6: {SPELLINGS['IPv6']}")
        return str(parse_address(inner)), True
    if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        if parse_address(host) is None:
            raise denied(host, f"IPv4: {SPELLINGS['IPv4']}")
        return host, True
    name = host.removesuffix(".")
    if len(name) > MAX_NAME_CHARS or not _NAME.fullmatch(name):
        raise denied(host, f"name: {SPELLINGS['name']}")
    return name, False


def kind_of_name(name: str) -> str | None:
    """What a name stands for that is refused without asking DNS; none for any other name."""
    labels = name.split(".")
    above = ("." + ".".join(labels[start:]) for start in range(1, len(labels)))
    return next((_KIND[one] for one in (name, *above) if one in _KIND), None)


def _shown(host: str) -> str:
    """A host as a message may show it: printable, and not longer than a name."""
    return ascii(host[: MAX_NAME_CHARS + 16])[1:-1] or "the url"
