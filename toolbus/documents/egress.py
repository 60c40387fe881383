"""Where calls may go: the tables of the guard, from the rules themselves."""

from toolbus.documents.tables import GENERATED, table
from toolbus_contracts.egress.addresses import BLOCKS, ISATAP, METADATA
from toolbus_contracts.egress.hosts import NAMES, SPELLINGS

_TEXT = """\
# Where calls may go

{generated}

A call reaches addresses of the public internet. Whatever else its url leads to is refused: the call fails with
`egress_denied`, is not repeated, and its message names host and rule. Nothing was sent; where the url alone tells,
not even DNS was asked.

* Names are resolved by the executor. **Every** address is checked, a single refused one refuses the call, and the
  connection goes to an address that was checked: nobody looks the name up a second time. TLS and the `Host` header
  keep the name.
* A redirect is a new url and is checked like the first. What led to it was sent, so for a call that is not safe to
  repeat `effect_happened` is then `unknown`. Credentials do not follow to another origin.
* A connection that is used again is checked once more, by the address at its other end.
* The addresses of a name are kept for 5 s, the verdict never: it follows from the rules, which do not change while
  the service runs.

## How a host may be written

| rule | what is let through |
| --- | --- |
{spellings}

## Addresses that are refused

{blocks}

## Names that are refused without asking DNS

`*.` stands for everything below.

{names}

## Opening more

`TOOLBUS_EGRESS_ALLOW`, or `toolbus up --allow-egress LIST`: a comma list. It is read once; with an entry that cannot be
read the service does not start.

| entry | opens |
| --- | --- |
| `billing.internal` | this name, whatever addresses it has, save {metadata} |
| `*.corp.example` | every name below it, but neither `corp.example` nor `corp.example.evil.test` |
| `10.0.0.0/8` | addresses in this network, written in the url or found by resolving |
| `127.0.0.1`, `[::1]` | one address |
| `…:8443`, `[fd00::/8]:8443` | the same on one port |

* {Metadata}, names and addresses alike, is opened only by an entry of exactly that name and exactly that address.
* `localhost` is a name: `127.0.0.0/8` opens `http://127.0.0.1/`, and `localhost` opens `http://localhost/`.
* An IPv6 address that stands for an IPv4 address (NAT64 and the like) is opened by an entry for its network, and only
  where the IPv4 address would be reached too. With DNS64, allow `[64:ff9b::/96]`.
* Odd spellings, and anything but http and https, are opened by nothing.

## Bounds of an answer

| of | at most |
| --- | --- |
| the head | 128 fields (trailers included), 64 KiB each |
| the body | `max_output_bytes`, counted after unpacking, which stops there |
| the body on the wire | twice that and 64 KiB when it is packed |
| time | `timeout_s`, from looking up the name to the last byte, redirects included |
| redirects | 10 |
"""


def egress() -> str:
    """The page about the guard."""
    blocks = ((str(block.network), block.kind, block.source) for block in BLOCKS)
    isatap = ("any, with `0:5efe` or `200:5efe` before its last 32 bits", ISATAP.kind, ISATAP.source)
    names = (
        (kind, ", ".join(f"`*{name}`" if name.startswith(".") else f"`{name}`" for name in found))
        for kind, found in NAMES.items()
    )
    return _TEXT.format(
        generated=GENERATED,
        spellings="\n".join(f"| {rule} | {says} |" for rule, says in SPELLINGS.items()),
        blocks="\n".join(table(("addresses", "what they are", "source"), (*blocks, isatap))),
        names="\n".join(table(("what they stand for", "names"), names)),
        metadata=METADATA,
        Metadata=METADATA.capitalize(),
    )
