"""What calls may reach although the guard would refuse it: the comma list in TOOLBUS_EGRESS_ALLOW."""

import ipaddress
import re
from dataclasses import dataclass
from typing import NamedTuple

from toolbus_contracts.egress.addresses import Address, Network, parse_address
from toolbus_contracts.egress.hosts import MAX_PORT, is_port, read_host
from toolbus_contracts.errors import Refused, Unreadable

_ENTRY = re.compile(r"(?P<host>\[[^\]]*\](?:/[0-9]+)?|[^\[\]:]+)(?::(?P<port>[^:]*))?")
FORMS = "host[:port], *.suffix[:port] or CIDR[:port], IPv6 in brackets"


class NameEntry(NamedTuple):
    """A name, or with a leading dot all names below it; every port when `port` is none."""

    name: str
    port: int | None

    def opens(self, name: str, port: int) -> bool:
        """Whether it names this host and port."""
        is_named = name.endswith(self.name) if self.name.startswith(".") else name == self.name
        return is_named and self.port in {None, port}


class NetworkEntry(NamedTuple):
    """A network; every port when `port` is none."""

    network: Network
    port: int | None

    def opens(self, address: Address, port: int) -> bool:
        """Whether it holds this address and port."""
        return address in self.network and self.port in {None, port}


@dataclass(frozen=True, slots=True)
class Allowances:
    """The entries of one list."""

    names: tuple[NameEntry, ...] = ()
    networks: tuple[NetworkEntry, ...] = ()

    def open_name(self, name: str, port: int, *, exactly: bool = False) -> bool:
        """Whether an entry names this host; with `exactly`, the host itself and not what it lies below."""
        return any(entry.opens(name, port) and not (exactly and entry.name.startswith(".")) for entry in self.names)

    def open_address(self, address: Address, port: int, *, exactly: bool = False) -> bool:
        """Whether an entry holds this address; with `exactly`, the address alone and no network around it."""
        return any(
            entry.opens(address, port) and not (exactly and entry.network.num_addresses > 1) for entry in self.networks
        )


def parse_allowances(text: str) -> Allowances:
    """
    Read the comma list; a text of nothing but spaces allows nothing.

    Raises:
        Unreadable: `invalid_value`, naming the entry and what is wrong with it.
    """
    if not text.strip():
        return Allowances()
    entries = [_entry(part.strip().lower()) for part in text.split(",")]
    return Allowances(
        names=tuple(entry for entry in entries if isinstance(entry, NameEntry)),
        networks=tuple(entry for entry in entries if isinstance(entry, NetworkEntry)),
    )


def _entry(text: str) -> NameEntry | NetworkEntry:
    if not text:
        raise _bad(text, "it is empty")
    if "://" in text:
        raise _bad(text, "leave the scheme away")
    if text.count(":") > 1 and not text.startswith("["):
        raise _bad(text, "write IPv6 in brackets, like [fd00::/8]:443")
    found = _ENTRY.fullmatch(text)
    if found is None or not (found["port"] is None or is_port(found["port"])):
        raise _bad(text, f"it is none of {FORMS}; a port is 1 to {MAX_PORT}")
    host, port = found["host"], int(found["port"]) if found["port"] else None
    if host.startswith("["):
        return NetworkEntry(_network(text, host[1:].replace("]", "", 1)), port)
    if "/" in host:
        return NetworkEntry(_network(text, host), port)
    if "*" in host:
        return NameEntry("." + _name(text, host.removeprefix("*.")), port)
    address = parse_address(host)
    return NameEntry(_name(text, host), port) if address is None else NetworkEntry(ipaddress.ip_network(address), port)


def _name(text: str, name: str) -> str:
    if "*" in name:
        raise _bad(text, "a * stands only in front, as in *.example.com; to open addresses name their network")
    if not name.isascii():
        raise _bad(text, "write other scripts as xn--…")
    try:
        clean, is_literal = read_host(name)
    except Refused as error:
        raise _bad(text, error.message.partition("is not reached: ")[2]) from error
    if is_literal:
        raise _bad(text, "an address has no names below it")
    return clean


def _network(text: str, written: str) -> Network:
    if "%" in written or not re.fullmatch(r"[0-9a-f:.]+(/(0|[1-9][0-9]{0,2}))?", written):
        raise _bad(text, "a network is written as address/bits")
    try:
        found = ipaddress.ip_network(written)
    except ValueError as error:
        raise _bad(text, str(error)) from error
    if (":" in written) != text.startswith("["):
        raise _bad(text, "only IPv6 stands in brackets")
    return found


def _bad(text: str, reason: str) -> Unreadable:
    return Unreadable("invalid_value", f"egress allowance {text!r} is refused: {reason}")
