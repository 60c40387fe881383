"""
Where a request may go: pure rules, which every service that sends requests applies before it connects.

    addresses.py   what kind of place an address is, and why it is refused
    hosts.py       the one way in which a url may name its host; names that are refused unasked
    allowances.py  what the operator opens all the same (TOOLBUS_EGRESS_ALLOW)
    rules.py       the verdict on a url, and on the addresses that its name has
"""

from toolbus_contracts.egress.allowances import Allowances, parse_allowances
from toolbus_contracts.egress.hosts import Place, place_of
from toolbus_contracts.egress.rules import EgressRules

__all__ = ["Allowances", "EgressRules", "Place", "parse_allowances", "place_of"]
