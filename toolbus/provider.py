"""
The plug-in protocol: how a ready tool is written, by us and by anybody.

    from pydantic import BaseModel
    from toolbus import READ, Call, Info, Provider

    class Search(BaseModel):
        query: str

    class Found(BaseModel):
        titles: list[str]

    provider = Provider("library", info=Info(friendly_name="The library", url="https://library.example"))

    @provider.method(contract=READ)
    async def search(arguments: Search, setup: None, call: Call) -> Found:
        answer = await call.get("https://library.example/search", params={"q": arguments.query})
        return Found(titles=answer.json()["titles"])

A package offers it under the entry point `toolbus.integrations`; nothing else has to be changed. Each provider runs in
a process of its own: one that blocks, crashes or takes too much memory disturbs no other.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, get_type_hints

import httpx
from pydantic import BaseModel

from toolbus_contracts.tools import Contract
from toolbus_contracts.values import Json

ENTRY_POINTS: Final = "toolbus.integrations"
READ: Final = Contract(effect="read", idempotency="native")
WRITE: Final = Contract(effect="write", idempotency="none")
PUT: Final = Contract(effect="write", idempotency="native")  # once more changes nothing
SEND: Final = Contract(effect="external", idempotency="none")  # reaches people: never repeated blindly
MAX_OUTPUT_BYTES: Final = 10 * 1024 * 1024


class ToolFailed(Exception):
    """
    The vendor, or the file at hand, said no: an answer was received, and it is the outcome.

    `code` is one of the codes of errors (`toolbus_contracts.errors.CODES`). `retryable` tells whether the same may work
    later, after `retry_after_s` seconds if given. `response` is the answer, of which an excerpt is kept. `has_effect`
    tells whether what was asked for happened all the same, where that is known otherwise than by the response's status.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "provider_failed",
        retryable: bool = False,
        retry_after_s: float | None = None,
        response: httpx.Response | None = None,
        has_effect: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.response = response
        self.has_effect = has_effect


class Call(Protocol):
    """
    One attempt at one call, as a method sees it: who asks, and the only ways out.

    Every way out goes past the egress guard, keeps the caps on size and time, and notes when the first byte may have
    left: only that tells later whether the effect can have happened.
    """

    @property
    def tenant(self) -> str:
        """Whose call it is."""
        ...

    @property
    def call_id(self) -> str:
        """The call, the same on every attempt: a vendor that takes idempotency keys gets this one."""
        ...

    @property
    def now(self) -> datetime:
        """The time, aware, UTC."""
        ...

    @property
    def folder(self) -> Path:
        """A folder of this call's own, empty, gone when the call is over."""
        ...

    @property
    def max_output_bytes(self) -> int:
        """How large an answer may be."""
        ...

    async def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Json = None,
        data: Mapping[str, Any] | None = None,
        files: Mapping[str, object] | None = None,
        content: bytes | None = None,
        auth: tuple[str, str] | None = None,
        follow_redirects: bool = False,
        raises: bool = True,
    ) -> httpx.Response:
        """
        The answer, whole.

        Raises:
            ToolFailed: an error status (unless `raises` is false), an answer above the bound, a target that the guard
                refuses, a request that cannot be written. A status of 408, 429, 503, 504 or 524 is retryable;
                Retry-After is heeded.
            httpx.TransportError: no answer came, or only a part of one. Let it pass: whether the call may be made
                again is known from what was sent.
        """
        ...

    async def get(self, url: str, *, params: Mapping[str, Any] | None = None, **options: object) -> httpx.Response:
        """`request` with GET."""
        ...

    async def post(self, url: str, *, json: Json = None, **options: object) -> httpx.Response:
        """`request` with POST."""
        ...

    async def examine(self, url: str) -> None:
        """
        The guard lets something go to this url: for what another program, or the vendor, is asked to fetch.

        Raises:
            ToolFailed: `egress_denied`.
        """
        ...

    async def checked_address(self, host: str, port: int) -> str:
        """
        An address of the host that the guard has checked: connect to it, and not to the name.

        Raises:
            ToolFailed: `egress_denied`, or `connection_failed` when the name has none.
        """
        ...

    def mark_sent(self) -> None:
        """Note that something may leave from now on; for ways out that are not `request`."""
        ...


Arguments = TypeVar("Arguments", bound=BaseModel)
Setup = TypeVar("Setup")
Output = TypeVar("Output", bound=BaseModel)
Function = Callable[[Arguments, Setup, Call], Awaitable[Output]]


@dataclass(frozen=True)
class Info:
    """What people read about a provider."""

    friendly_name: str
    url: str = ""
    docs: str = ""
    icon: str = ""


@dataclass(frozen=True)
class Method:
    """One thing a provider does. `retry_on`: statuses of the vendor after which another attempt is wanted."""

    name: str
    description: str
    arguments: type[BaseModel]
    output: type[BaseModel]
    contract: Contract
    timeout_s: float
    retry_on: tuple[int, ...]
    function: Callable[[Any, Any, Call], Awaitable[BaseModel]]


@dataclass(frozen=True)
class Provider:
    """
    A provider: its name, what has to be set up for it, and its methods, the usual one first.

    `setup` is a pydantic model, none when nothing has to be set up. `extra` names the optional dependencies that it
    needs (`toolbus[browser]`); `needs` the modules that must be there for it to work.
    """

    name: str
    info: Info
    setup: type[BaseModel] | None = None
    extra: str | None = None
    needs: tuple[str, ...] = ()
    methods: dict[str, Method] = field(default_factory=dict)

    def method(
        self, *, contract: Contract, name: str | None = None, timeout_s: float = 30.0, retry_on: Sequence[int] = ()
    ) -> Callable[[Function[Arguments, Setup, Output]], Function[Arguments, Setup, Output]]:
        """
        The decorated function is a method of this provider; its models are those of its annotations.

        Raises:
            TypeError: it is not `async def (arguments: Model, setup: Setup, call: Call) -> Model`.
        """

        def register(function: Function[Arguments, Setup, Output]) -> Function[Arguments, Setup, Output]:
            found = name or function.__name__
            hints = get_type_hints(function)
            arguments, output = _model(hints.get("arguments")), _model(hints.get("return"))
            if arguments is None or output is None or not inspect.iscoroutinefunction(function):
                raise TypeError(f"{self.name}.{found} must be async, take a model of arguments and give a model back")
            described = inspect.getdoc(function) or ""
            self.methods[found] = Method(
                found, described, arguments, output, contract, timeout_s, tuple(retry_on), function
            )
            return function

        return register

    @property
    def usual(self) -> Method:
        """The method that is meant when none is named."""
        return next(iter(self.methods.values()))


def _model(found: object) -> type[BaseModel] | None:
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None
