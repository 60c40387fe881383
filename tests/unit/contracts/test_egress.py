"""Egress rules: every odd spelling and every address that is not public is refused, and says why."""

import ipaddress

import pytest

from tests.unit.contracts.spellings import REACHED, REFUSED
from toolbus_contracts.egress import EgressRules, Place
from toolbus_contracts.egress.addresses import BLOCKS, Address, Block, block_of, embedded_in, parse_address
from toolbus_contracts.errors import Refused


@pytest.mark.parametrize(("url", "reason"), REFUSED, ids=ascii)
def test_a_spelling_is_refused(url: str, reason: str) -> None:
    """The code is `egress_denied`; the message names the host and the rule, and stays printable."""
    with pytest.raises(Refused) as caught:
        EgressRules().examine(url)
    assert caught.value.code == "egress_denied"
    assert reason in caught.value.message
    assert caught.value.message.split("is not reached:")[0].isprintable()


def test_there_are_enough_spellings() -> None:
    """Each stands once; the table only grows."""
    assert len({url for url, _ in REFUSED}) == len(REFUSED) >= 200


@pytest.mark.parametrize(("url", "scheme", "host", "port"), REACHED)
def test_what_is_public_is_reached(url: str, scheme: str, host: str, port: int) -> None:
    """Names are only read here; their addresses are checked when they are known."""
    place = EgressRules().examine(url)
    assert place[:3] == (scheme, host, port)
    assert place.is_literal == (parse_address(host) is not None)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: str(block.network))
def test_a_block_is_refused_from_end_to_end(block: Block) -> None:
    """The first and the last address of each range are refused."""
    for address in (block.network[0], block.network[-1]):
        assert block_of(address) is not None


NEIGHBOURS = (
    "9.255.255.255 11.0.0.0 126.255.255.255 128.0.0.0 172.15.255.255 172.32.0.0 100.63.255.255 100.128.0.0 "
    "192.167.255.255 192.169.0.0 223.255.255.255 198.17.255.255 198.20.0.0 169.253.255.255 169.255.0.0 1.0.0.0 "
    "2000:: 2001:200:: 2003:: 2a00::1 3ffe:ffff:: 3fff:1000:: 2001:db7:ffff:: 2001:db9::"
)


@pytest.mark.parametrize("text", NEIGHBOURS.split())
def test_next_to_a_block_is_reached(text: str) -> None:
    """Nothing more is refused than what is written."""
    address = parse_address(text)
    assert address is not None
    assert block_of(address) is None


def test_what_python_calls_private_is_refused() -> None:
    """The standard library's idea of what is not global, sampled everywhere, is contained in ours."""
    samples: list[Address] = [
        ipaddress.IPv4Address((high << 16) + low) for high in range(0, 65536, 3) for low in (0, 1, 65535)
    ]
    samples += [
        ipaddress.IPv6Address(high << 112 | low << 96 | 1) for high in range(0, 65536, 7) for low in (0, 2, 0xDB8)
    ]
    for address in samples:
        assert address.is_global or block_of.__wrapped__(address) is not None, address


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("::7f00:1", "127.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::ffff:0:10.0.0.1", "10.0.0.1"),
        ("64:ff9b::8.8.8.8", "8.8.8.8"),
        ("64:ff9b:1::8.8.8.8", "8.8.8.8"),
        ("2002:a00:1::", "10.0.0.1"),
        ("2001:0:4136:e378:8000:63bf:f5ff:fffe", "10.0.0.1"),
        ("2606::5efe:10.0.0.1", "10.0.0.1"),
        ("2606::1", None),
        ("fd00::1", None),
        ("8.8.8.8", None),
    ],
)
def test_what_an_address_stands_for(text: str, inner: str | None) -> None:
    """The IPv4 address inside each form of transition."""
    address = parse_address(text)
    assert address is not None
    found = embedded_in(address)
    assert (None if found is None else str(found)) == inner


BAD = (
    ("127.0.0.1",),
    ("8.8.8.8", "10.0.0.1"),
    ("10.0.0.1", "8.8.8.8"),
    ("8.8.8.8", "::1"),
    ("::ffff:8.8.8.8",),
    ("fe80::1%2",),
    ("2606::1%lo",),
    ("nonsense",),
    ("127.1",),
    ("8.8.8.8", ""),
)


@pytest.mark.parametrize("addresses", BAD)
def test_one_refused_address_refuses_the_name(addresses: tuple[str, ...]) -> None:
    """There is no picking; what is no address is refused too."""
    place = Place("https", "example.com", 443, is_literal=False)
    with pytest.raises(Refused, match=r"^example\.com:443 is not reached: ") as caught:
        EgressRules().examine_addresses(place, addresses)
    assert caught.value.code == "egress_denied"


def test_public_addresses_are_fine() -> None:
    """Several, of both kinds."""
    place = Place("https", "example.com", 443, is_literal=False)
    EgressRules().examine_addresses(place, ("8.8.8.8", "2606:4700::1111"))


def test_the_message_does_not_tell_the_address() -> None:
    """What a private name resolves to is not for the caller: host, kind and range are named."""
    place = Place("http", "wiki.example", 80, is_literal=False)
    with pytest.raises(Refused) as caught:
        EgressRules().examine_addresses(place, ("10.20.30.40",))
    assert caught.value.message == (
        "wiki.example:80 is not reached: an address that it resolves to is refused as private (10.0.0.0/8)"
    )
