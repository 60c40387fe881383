"""A secret in the hands of an executor: its value, and where it may go."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from toolbus_contracts.egress import Place
from toolbus_contracts.errors import Refused

UNNUMBERED: Final = 0  # the generation of what lies in a folder or the environment, and of what is nowhere


@dataclass(frozen=True, slots=True)
class Secret:
    """
    A secret that was resolved for one attempt.

    `generation` is that of the table, 0 when it comes from elsewhere. `hosts`: it goes to these only; to any if empty.
    """

    name: str
    value: str = field(repr=False)
    generation: int = UNNUMBERED
    hosts: tuple[str, ...] = ()

    def may_go_to(self, place: Place) -> bool:
        """Whether its binding lets it go there."""
        return not self.hosts or any(_names(host, place) for host in self.hosts)


def check_place(secrets: Iterable[Secret], place: Place) -> None:
    """
    Let pass what every one of the secrets may be sent to.

    Raises:
        Refused: `secret_not_allowed`, naming the secret and the hosts that it is bound to.
    """
    for secret in secrets:
        if not secret.may_go_to(place):
            bound = ", ".join(secret.hosts)
            raise Refused("secret_not_allowed", f"secret {secret.name} goes to {bound} only, and not to {place}")


def generations_of(secrets: Sequence[Secret]) -> dict[str, int]:
    """The generation of each secret by its name, as digests of effects hold it."""
    return {secret.name: secret.generation for secret in secrets}


def _names(host: str, place: Place) -> bool:
    """Whether `host`, `*.suffix`, or one of them with a port names the place."""
    name, colon, port = host.partition(":")
    if colon and int(port) != place.port:
        return False
    if name.startswith("*."):
        return place.host.endswith(name[1:])
    return place.host == name
