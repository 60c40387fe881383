"""What is installed in the environment of the tests, and what of it a requirement needs."""

from collections.abc import Iterable
from functools import cache
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(requirements: Iterable[str], extras: Iterable[str] = ()) -> frozenset[str]:
    """
    The distributions that these requirements need, all the way down; of those with a marker `extra`, those of `extras`.

    Raises:
        PackageNotFoundError: one of them is not installed here.
    """
    found: set[tuple[str, str]] = set()
    for one in _asked(requirements, extras):
        _add(one, found)
    return frozenset(name for name, _ in found)


def _asked(requirements: Iterable[str], extras: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Distributions by name, each once plain, with an empty word, and once for each of its extras that is wanted."""
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            name = canonicalize_name(requirement.name)
            yield from ((name, extra) for extra in ("", *requirement.extras))


def _add(one: tuple[str, str], found: set[tuple[str, str]]) -> None:
    if one not in found:
        found.add(one)
        name, extra = one
        for other in _asked(_requires(name), [extra] if extra else ()):
            _add(other, found)


@cache
def _requires(name: str) -> tuple[str, ...]:
    return tuple(metadata.requires(name) or ())
