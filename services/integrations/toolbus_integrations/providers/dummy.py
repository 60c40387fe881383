"""Echo: gives back what it is given, and reaches nobody. For trying a tool out before its provider is set up."""

from pydantic import BaseModel, ConfigDict

from toolbus.provider import READ, Call, Info, Provider

provider = Provider("dummy", info=Info(friendly_name="Echo"))


class Anything(BaseModel):
    """Whatever is given."""

    model_config = ConfigDict(extra="allow")


@provider.method(contract=READ)
async def echo(arguments: Anything, setup: None, call: Call) -> Anything:  # noqa: ARG001 - every method has these
    """Give the arguments back."""
    return arguments
