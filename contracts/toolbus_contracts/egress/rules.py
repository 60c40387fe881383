"""The verdict: whether a request may go to a url, and to the addresses that its name turned out to have."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolbus_contracts.egress.addresses import METADATA, Address, Block, block_of, embedded_in, parse_address
from toolbus_contracts.egress.allowances import Allowances
from toolbus_contracts.egress.hosts import Place, denied, kind_of_name, place_of
from toolbus_contracts.errors import Refused


@dataclass(frozen=True, slots=True)
class EgressRules:
    """
    What is refused, less what the operator allowed.

    An entry that names a host opens whatever addresses it has, save cloud metadata: these, hosts and addresses
    alike, are opened by an entry of their own and by no range around them. An IPv6 address that stands for an IPv4
    address is opened by an entry, and only where the IPv4 address would be reached too.
    """

    allowances: Allowances = field(default_factory=Allowances)

    def examine(self, url: str) -> Place:
        """
        Where a url leads, refused as far as that can be told without asking DNS.

        Raises:
            Refused: `egress_denied`, with host and rule.
        """
        place = place_of(url)
        if place.is_literal:
            self.examine_addresses(place, (place.host,))
            return place
        kind = kind_of_name(place.host)
        if kind is not None and not self.allowances.open_name(place.host, place.port, exactly=kind == METADATA):
            raise denied(str(place), f"the name stands for {kind}")
        return place

    def examine_addresses(self, place: Place, addresses: Iterable[str]) -> None:
        """
        Refuse the place when a single one of its addresses is refused.

        Raises:
            Refused: `egress_denied`, with host and rule.
        """
        for text in addresses:
            address = parse_address(text)
            if address is None:
                raise denied(str(place), "it has an address that is none, or one with a zone")
            block = self._refusing(place, address)
            if block is not None:
                raise _refusal(place, block)

    def _refusing(self, place: Place, address: Address) -> Block | None:
        """The block because of which an address is refused; none when it is public, or allowed."""
        block = block_of(address)
        if block is None:
            return None
        is_exact = block.kind == METADATA
        is_named = not place.is_literal and self.allowances.open_name(place.host, place.port)
        is_allowed = self.allowances.open_address(address, place.port, exactly=is_exact)
        if not (is_allowed or (is_named and not is_exact)):
            return block
        inner = embedded_in(address)
        return None if inner is None else self._refusing(place, inner)


def _refusal(place: Place, block: Block) -> Refused:
    subject = "the address" if place.is_literal else "an address that it resolves to"
    return denied(str(place), f"{subject} is refused as {block.kind} ({block.network})")
