"""How an `api_call` says who it is in the Authorization header."""

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from toolbus_contracts.values import Message


class BasicAuth(Message):
    """User and password; each is a text, or a reference `secret://name`. Source: RFC 7617."""

    username: Annotated[str, StringConstraints(max_length=1024)]
    password: Annotated[str, StringConstraints(max_length=1024)] = ""


class ApiAuth(Message):
    """
    One way to fill the Authorization header, in which a reference `secret://name` cannot stand beside other text.

    `bearer: secret://token` is sent as `Bearer <token>`; `basic` as user and password in base64.
    """

    bearer: Annotated[str, StringConstraints(min_length=1, max_length=4096)] | None = None
    basic: BasicAuth | None = Field(None)

    @model_validator(mode="after")
    def _is_one(self) -> "ApiAuth":
        if (self.bearer is None) == (self.basic is None):
            raise ValueError("auth is either bearer or basic")
        return self
