"""What kind of place an IP address is. Only addresses of the public internet are reached unasked."""

import ipaddress
from functools import lru_cache
from typing import NamedTuple

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
METADATA = "cloud metadata"


class Block(NamedTuple):
    """A range of addresses that is refused, as what, and where that is written."""

    network: Network
    kind: str
    source: str


def _blocks(*rows: tuple[str, str, str]) -> tuple[Block, ...]:
    return tuple(Block(ipaddress.ip_network(network), kind, source) for network, kind, source in rows)


# The first that holds an address names it: special ones before the range that they lie in.
# Source: IANA IPv4 and IPv6 Special-Purpose Address Registries; the providers' documentation.
BLOCKS = _blocks(
    ("169.254.169.254/32", METADATA, "AWS, Azure, GCP, Oracle, DigitalOcean, OpenStack"),
    ("169.254.169.253/32", METADATA, "AWS resolver"),
    ("169.254.169.123/32", METADATA, "AWS time"),
    ("169.254.170.2/32", METADATA, "AWS ECS credentials"),
    ("169.254.170.23/32", METADATA, "AWS EKS credentials"),
    ("169.254.0.23/32", METADATA, "Tencent Cloud"),
    ("169.254.42.42/32", METADATA, "Scaleway"),
    ("100.100.100.200/32", METADATA, "Alibaba Cloud"),
    ("168.63.129.16/32", METADATA, "Azure host agent, in a public range"),
    ("192.0.0.192/32", METADATA, "Oracle Cloud, older address"),
    ("fd00:ec2::254/128", METADATA, "AWS"),
    ("fd00:ec2::253/128", METADATA, "AWS resolver"),
    ("fd00:ec2::23/128", METADATA, "AWS EKS credentials"),
    ("fd20:ce::254/128", METADATA, "GCP"),
    ("fd00:42::42/128", METADATA, "Scaleway"),
    ("fd00:a9fe:a9fe::1/128", METADATA, "Akamai"),
    ("fe80::a9fe:a9fe/128", METADATA, "OpenStack"),
    ("0.0.0.0/32", "unspecified", "RFC 1122"),
    ("0.0.0.0/8", "this network", "RFC 791"),
    ("10.0.0.0/8", "private", "RFC 1918"),
    ("100.64.0.0/10", "shared by a provider (CGNAT)", "RFC 6598"),
    ("127.0.0.0/8", "loopback", "RFC 1122"),
    ("169.254.0.0/16", "link-local", "RFC 3927"),
    ("172.16.0.0/12", "private", "RFC 1918"),
    ("192.0.0.0/24", "reserved for protocols", "RFC 6890"),
    ("192.0.2.0/24", "documentation", "RFC 5737"),
    ("192.88.99.0/24", "6to4 relay", "RFC 7526"),
    ("192.168.0.0/16", "private", "RFC 1918"),
    ("198.18.0.0/15", "benchmark", "RFC 2544"),
    ("198.51.100.0/24", "documentation", "RFC 5737"),
    ("203.0.113.0/24", "documentation", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "RFC 5771"),
    ("255.255.255.255/32", "broadcast", "RFC 919"),
    ("240.0.0.0/4", "reserved", "RFC 1112"),
    ("::/128", "unspecified", "RFC 4291"),
    ("::1/128", "loopback", "RFC 4291"),
    ("::/96", "IPv4-compatible", "RFC 4291"),
    ("::ffff:0:0/96", "IPv4-mapped", "RFC 4291"),
    ("::ffff:0:0:0/96", "IPv4-translated", "RFC 2765"),
    ("64:ff9b::/96", "NAT64", "RFC 6052"),
    ("64:ff9b:1::/48", "NAT64, local", "RFC 8215"),
    ("100::/64", "discard", "RFC 6666"),
    ("2001::/32", "Teredo", "RFC 4380"),
    ("2001:2::/48", "benchmark", "RFC 5180"),
    ("2001::/23", "reserved for protocols", "RFC 2928"),
    ("2001:db8::/32", "documentation", "RFC 3849"),
    ("2002::/16", "6to4", "RFC 3056"),
    ("3fff::/20", "documentation", "RFC 9637"),
    ("5f00::/16", "segment routing", "RFC 9602"),
    ("fc00::/7", "unique-local", "RFC 4193"),
    ("fe80::/10", "link-local", "RFC 4291"),
    ("fec0::/10", "site-local", "RFC 3879"),
    ("ff00::/8", "multicast", "RFC 4291"),
    # What is left outside 2000::/3 is given to nobody. Source: RFC 4291 §2.4
    ("::/3", "not global unicast", "RFC 4291"),
    ("4000::/2", "not global unicast", "RFC 4291"),
    ("8000::/1", "not global unicast", "RFC 4291"),
)
ISATAP = Block(ipaddress.ip_network("::/0"), "ISATAP", "RFC 5214")
_ISATAP_MARKS = frozenset({0x00005EFE, 0x02005EFE})
_LAST_32 = 0xFFFFFFFF


@lru_cache(maxsize=8192)
def parse_address(text: str) -> Address | None:
    """The address that a text is, in the one spelling of IPv4 and without a zone; none when it is no such text."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    has_zone = isinstance(found, ipaddress.IPv6Address) and found.scope_id is not None
    return None if has_zone else found


@lru_cache(maxsize=8192)
def block_of(address: Address) -> Block | None:
    """The range because of which an address is refused; none for one of the public internet."""
    found = next((block for block in BLOCKS if address in block.network), None)
    if found is None and address.version == 6 and _is_isatap(int(address)):  # noqa: PLR2004 - IPv6
        return ISATAP
    return found


def embedded_in(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address of a transition mechanism stands for."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    number, block = int(address), block_of(address)
    match None if block is None else block.kind:
        case "IPv4-compatible" | "IPv4-mapped" | "IPv4-translated" | "NAT64" | "NAT64, local" | "ISATAP":
            return ipaddress.IPv4Address(number & _LAST_32)
        case "6to4":
            return ipaddress.IPv4Address(number >> 80 & _LAST_32)
        case "Teredo":
            return ipaddress.IPv4Address(~number & _LAST_32)
        case _:
            return None


def _is_isatap(number: int) -> bool:
    return number >> 32 & _LAST_32 in _ISATAP_MARKS
