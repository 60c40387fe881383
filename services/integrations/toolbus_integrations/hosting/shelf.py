"""Which providers there are: ours by their modules, those of others by what installed packages offer."""

import pkgutil

from toolbus_integrations import providers
from toolbus_integrations.host.loading import offered
from toolbus_integrations.providers import SHARED


def ours() -> tuple[str, ...]:
    """The names of our providers; none of them is imported."""
    found = (module.name for module in pkgutil.iter_modules(providers.__path__))
    return tuple(sorted(name for name in found if name not in SHARED))


def theirs() -> tuple[str, ...]:
    """The names that packages of others offer. A name of ours stays ours."""
    return tuple(sorted(offered().keys() - set(ours())))
