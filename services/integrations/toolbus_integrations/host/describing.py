"""`python -m toolbus_integrations.host.describing NAME…`: what each provider of ours says of itself, as JSON."""

import os
import sys

from pydantic import TypeAdapter

from toolbus_contracts.integrations import ProviderInfo, ProviderView
from toolbus_integrations.host.loading import LoadingFailed, describe, load, origin

VIEWS: TypeAdapter[list[ProviderView]] = TypeAdapter(list[ProviderView])


def described(name: str) -> ProviderView:
    """The provider as the catalogue shows it; with its fault when it cannot be used."""
    try:
        return describe(load(name), *origin(name))
    except LoadingFailed as error:
        return ProviderView(provider=name, info=ProviderInfo(friendly_name=name), fault=error.fault)


def main() -> None:
    """Write the views to stdout; what modules print while they are imported goes to stderr."""
    answer = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(answer, "wb") as file:
        file.write(VIEWS.dump_json([described(name) for name in sys.argv[1:]]))


if __name__ == "__main__":
    main()
