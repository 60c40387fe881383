"""The list of what is opened all the same: read strictly, and opening no more than it says."""

import pytest

from toolbus_contracts.egress import Allowances, EgressRules, Place, parse_allowances
from toolbus_contracts.errors import Refused, Unreadable


def rules(text: str) -> EgressRules:
    """Rules with this list."""
    return EgressRules(parse_allowances(text))


def is_reached(text: str, url: str, *addresses: str) -> bool:
    """Whether a url whose name has these addresses is reached under this list."""
    try:
        place = rules(text).examine(url)
        rules(text).examine_addresses(place, addresses)
    except Refused:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("*", "a \\* stands only in front"),
        ("*.", "name:"),
        ("*.*.example.com", "a \\* stands only in front"),
        ("a.*.example.com", "a \\* stands only in front"),
        ("*example.com", "a \\* stands only in front"),
        ("example.*", "a \\* stands only in front"),
        ("*.127.0.0.1", "no names below it"),
        ("http://example.com", "leave the scheme away"),
        ("example.com/path", "address/bits"),
        ("user@example.com", "name:"),
        ("example.com:0", "a port is 1 to 65535"),
        ("example.com:65536", "a port is 1 to 65535"),
        ("example.com:080", "a port is 1 to 65535"),
        ("example.com:", "a port is 1 to 65535"),
        ("example.com:*", "a port is 1 to 65535"),
        ("::1", "write IPv6 in brackets"),
        ("fd00::/8", "write IPv6 in brackets"),
        ("[127.0.0.1]", "only IPv6 stands in brackets"),
        ("[fe80::1%eth0]", "address/bits"),
        ("[::1]x", "it is none of"),
        ("[::1", "it is none of"),
        ("[]", "address/bits"),
        ("[fd00::/8]/8", "address/bits"),
        ("10.0.0.1/8", "has host bits set"),
        ("10.0.0.0/33", "does not appear to be"),
        ("10.0.0.0/08", "address/bits"),
        ("10.0.0.0/255.0.0.0", "address/bits"),
        ("10/8", "does not appear to be"),
        ("127.1", "IPv4:"),
        ("0x7f000001", "IPv4:"),
        ("2130706433", "IPv4:"),
        ("bücher.example", "xn--"),
        ("*.bücher.example", "xn--"),
        ("a b", "name:"),
        ("example.com,", "it is empty"),
        (",", "it is empty"),
        ("example.com,,10.0.0.0/8", "it is empty"),
        ("example.com;10.0.0.0/8", "address/bits"),
    ],
)
def test_a_bad_entry_is_refused(text: str, reason: str) -> None:
    """The whole list is refused, and the message names the entry."""
    with pytest.raises(Unreadable, match=reason) as caught:
        parse_allowances(text)
    assert caught.value.code == "invalid_value"
    assert "egress allowance" in caught.value.message


@pytest.mark.parametrize("text", ["", "  ", "\t"])
def test_nothing_allows_nothing(text: str) -> None:
    """An empty setting is no entry."""
    assert parse_allowances(text) == Allowances()
    assert not is_reached(text, "http://127.0.0.1/")


@pytest.mark.parametrize(
    ("text", "url", "addresses"),
    [
        ("127.0.0.1", "http://127.0.0.1/", ()),
        ("127.0.0.1:8700", "http://127.0.0.1:8700/", ()),
        ("127.0.0.0/8", "http://127.9.9.9:1/", ()),
        ("127.0.0.0/8:80", "http://127.9.9.9/", ()),
        ("[::1]", "http://[::1]/", ()),
        ("[::1]:8080", "http://[::1]:8080/", ()),
        ("[fd00::/8]:443", "https://[fd12::1]/", ()),
        ("[fd00::]/8:443", "https://[fd12::1]/", ()),
        ("10.0.0.0/8", "https://wiki.example/", ("10.1.1.1", "8.8.8.8")),
        ("10.0.0.0/8, 192.168.0.0/16", "https://wiki.example/", ("10.1.1.1", "192.168.1.1")),
        ("localhost", "http://LOCALHOST.:99/", ("127.0.0.1", "::1")),
        ("Localhost.:99", "http://localhost:99/", ("127.0.0.1", "::1")),
        ("wiki.corp", "http://wiki.corp/", ("10.1.1.1",)),
        ("redis", "http://redis/", ("172.17.0.2",)),
        ("*.corp.example", "https://a.b.corp.example/", ("10.1.1.1",)),
        ("*.corp.example:8443", "https://a.corp.example:8443/", ("fd00::1",)),
        ("*.internal", "https://api.internal/", ("10.1.1.1",)),
        ("host.docker.internal:80", "http://host.docker.internal/", ("192.168.65.2",)),
        ("[64:ff9b::/96]", "https://example.com/", ("64:ff9b::8.8.8.8",)),
        ("[64:ff9b::/96], 10.0.0.0/8", "https://example.com/", ("64:ff9b::10.0.0.1",)),
        ("[::ffff:0:0/96], 127.0.0.1", "http://[::ffff:127.0.0.1]/", ()),
        ("169.254.169.254", "http://169.254.169.254/", ()),
        ("169.254.169.254/32:80", "http://169.254.169.254/", ()),
        ("metadata.google.internal, 169.254.169.254", "http://metadata.google.internal/", ("169.254.169.254",)),
    ],
)
def test_an_entry_opens(text: str, url: str, addresses: tuple[str, ...]) -> None:
    """What it names, in the url or among the addresses that a name has."""
    assert not is_reached("", url, *addresses)
    assert is_reached(text, url, *addresses)


@pytest.mark.parametrize(
    ("text", "url", "addresses"),
    [
        ("127.0.0.1:8700", "http://127.0.0.1:8701/", ()),
        ("127.0.0.1", "http://127.0.0.2/", ()),
        ("127.0.0.1", "http://localhost/", ("127.0.0.1",)),
        ("127.0.0.0/8", "http://[::1]/", ()),
        ("127.0.0.0/8", "http://[::ffff:127.0.0.1]/", ()),
        ("[::ffff:0:0/96]", "http://[::ffff:127.0.0.1]/", ()),
        ("127.0.0.0/8", "http://127.1/", ()),
        ("127.0.0.0/8", "http://user@127.0.0.1/", ()),
        ("127.0.0.0/8", "ftp://127.0.0.1/", ()),
        ("10.0.0.0/8", "http://wiki.example/", ("10.0.0.1", "192.168.0.1")),
        ("[::1]", "http://127.0.0.1/", ()),
        ("wiki.corp", "http://wiki.corp.evil.test/", ("10.0.0.1",)),
        ("wiki.corp:80", "https://wiki.corp/", ("10.0.0.1",)),
        ("wiki.corp", "http://a.wiki.corp/", ("10.0.0.1",)),
        ("wiki.corp", "http://10.0.0.1/", ()),
        ("*.corp.example", "http://corp.example/", ("10.0.0.1",)),
        ("*.corp.example", "http://evilcorp.example/", ("10.0.0.1",)),
        ("*.corp.example", "http://corp.example.evil.test/", ("10.0.0.1",)),
        ("*.corp.example", "http://a.corp.example.evil.test/", ("10.0.0.1",)),
        ("*.corp.example:443", "http://a.corp.example/", ("10.0.0.1",)),
        ("*.com", "http://wiki.example/", ("10.0.0.1",)),
        ("0.0.0.0/0", "http://169.254.169.254/", ()),
        ("169.254.0.0/16", "http://169.254.169.254/", ()),
        ("[fd00::/8]", "http://[fd00:ec2::254]/", ()),
        ("wiki.corp", "http://wiki.corp/", ("169.254.169.254",)),
        ("*.internal, 169.254.169.254", "http://metadata.google.internal/", ("169.254.169.254",)),
        ("metadata.google.internal", "http://metadata.google.internal/", ("169.254.169.254",)),
        ("[64:ff9b::/96]", "http://example.com/", ("64:ff9b::10.0.0.1",)),
        ("[64:ff9b::/96]", "http://example.com/", ("64:ff9b::169.254.169.254",)),
        ("nat.example", "http://nat.example/", ("64:ff9b::169.254.169.254",)),
    ],
)
def test_an_entry_opens_nothing_else(text: str, url: str, addresses: tuple[str, ...]) -> None:
    """Neither by suffix, port, family or spelling, nor metadata by a range or by the name of something else."""
    assert not is_reached(text, url, *addresses)


def test_a_public_place_needs_no_entry() -> None:
    """The list opens and never closes."""
    assert is_reached("10.0.0.0/8", "https://example.com/", "8.8.8.8")
    assert str(Place("http", "::1", 80, is_literal=True)) == "[::1]:80"
