"""The catalogue: providers of ready tools and their methods, as each provider's own process describes them."""

from pydantic import Field

from toolbus_contracts.tools import Contract, JsonObject
from toolbus_contracts.values import Message


class ProviderInfo(Message):
    """What people read about a provider."""

    friendly_name: str
    url: str = ""
    docs: str = ""
    icon: str = ""


class MethodView(Message):
    """
    One method: schemas of what it takes and gives, what it does to the world, how long an attempt may take (seconds).

    `retry_on`: statuses of the vendor after which another attempt is wanted.
    """

    method: str
    description: str
    arguments: JsonObject
    output: JsonObject
    contract: Contract
    timeout_s: float
    retry_on: tuple[int, ...] = ()


class ProviderFault(Message):
    """Why a provider cannot be used: the code and the message that calls of it are answered with."""

    code: str
    message: str


class ProviderView(Message):
    """
    A provider: `methods`, the usual one first, and the schema of `setup`, none when nothing has to be set up.

    `package` is who brought it (`toolbus` for ours), `extra` the optional dependencies that it needs. One that cannot
    be used has a `fault` instead of methods.
    """

    provider: str
    package: str = "toolbus"
    version: str = ""
    info: ProviderInfo
    extra: str | None = None
    setup: JsonObject | None = None
    methods: tuple[MethodView, ...] = Field(())
    fault: ProviderFault | None = None

    def method(self, name: str | None) -> MethodView | None:
        """The method of this name, the usual one when none is named."""
        if name is None:
            return self.methods[0] if self.methods else None
        return next((found for found in self.methods if found.method == name), None)
