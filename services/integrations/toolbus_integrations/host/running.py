"""One method, run for one call: from what was asked to what is answered."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from toolbus.provider import Method, Provider, ToolFailed
from toolbus_contracts.calls import ResponseExcerpt
from toolbus_contracts.errors import CODES, Unreadable
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import Json, fault_message, fault_path, parse_json, storable
from toolbus_integrations.host.call import HostedCall
from toolbus_integrations.host.exchange import Exchange, TooLateError, current_exchange
from toolbus_integrations.host.failures import LIBRARY_ERRORS
from toolbus_integrations.host.messages import (
    Check,
    Checked,
    Ended,
    FailedMethod,
    Gave,
    Interrupted,
    Perform,
    Raised,
    Side,
    SideFault,
    Stopped,
)
from toolbus_integrations.host.network import Network
from toolbus_integrations.host.watch import end_out_of_memory

MAX_FAULTS = 20
MAX_EXCERPT_BYTES = 4 * 1024
MAX_EXCERPT_HEADERS = 8 * 1024
MAX_WORDS = 2000
LARGE_BYTES = 256 * 1024  # reading more than this in the loop would look like silence
NUL = b"\\u0000"  # in JSON: where an even number of backslashes stands before it


def _nobody() -> None:
    """Nobody wants to know."""


class Runner:
    """Runs the methods of one provider, each call in a folder of its own below `folder`."""

    def __init__(self, provider: Provider, network: Network, *, folder: Path, user_agent: str) -> None:
        self._provider = provider
        self._network = network
        self._folder = folder
        self._user_agent = user_agent
        self._giving = asyncio.Lock()

    def check(self, method: str, setup: JsonObject, arguments: Json) -> tuple[SideFault, ...]:
        """What is wrong with setup and arguments; nothing when they fit."""
        found = self._provider.methods[method]
        return (*_faults("setup", self._provider.setup, setup), *_faults("arguments", found.arguments, arguments))

    async def checked(self, asked: Check, *, is_large: bool = False) -> Checked | Raised:
        """
        The answer to whether setup and arguments fit: what the provider's own checks raised, when they broke.

        `is_large`: it is found in a thread, while other calls go on.
        """
        given = (asked.method, asked.setup, asked.arguments)
        try:
            faults = await asyncio.to_thread(self.check, *given) if is_large else self.check(*given)
        except MemoryError:
            end_out_of_memory()
            raise
        except Exception as error:  # noqa: BLE001 - a fault of the provider: its other calls go on
            return Raised(id=asked.id, message=f"{type(error).__name__} in a check of setup or arguments")
        return Checked(id=asked.id, faults=faults)

    async def run(
        self, asked: Perform, exchange: Exchange, *, is_large: bool = False, on_returned: Callable[[], None] = _nobody
    ) -> Ended:
        """
        What came of it; never raises but for want of memory, which ends the process.

        `is_large`: what is given is checked in a thread, while other calls go on. `on_returned` is called when the
        method has given its output: whoever cancels this from then on throws away what is known of the effect.
        """
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        current_exchange.set(exchange)
        call = HostedCall(
            tenant=asked.tenant,
            call_id=asked.call_id,
            folder=folder,
            max_output_bytes=asked.max_output_bytes,
            network=self._network,
            exchange=exchange,
            user_agent=self._user_agent,
        )
        try:
            method = self._provider.methods[asked.method]
            return await self._ended(asked, method, call, on_returned, is_large=is_large)
        except ValidationError as error:  # what it raised holds what no answer can
            return Raised(id=asked.id, message=_told(error, exchange))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _ended(
        self, asked: Perform, method: Method, call: HostedCall, on_returned: Callable[[], None], *, is_large: bool
    ) -> Ended:
        try:
            read = method.arguments.model_validate
            arguments = await asyncio.to_thread(read, asked.arguments) if is_large else read(asked.arguments)
            setup = None if self._provider.setup is None else self._provider.setup.model_validate(asked.setup)
            output = await method.function(arguments, setup, call)
            on_returned()
            async with self._giving:  # one after the other: in between the process gives a sign of life
                return await _gave(asked, method, output, call)
        except asyncio.CancelledError:
            return Stopped(id=asked.id)
        except ToolFailed as failure:
            return _failed(asked, failure, method, call)
        except TooLateError as error:
            return Interrupted(id=asked.id, kind="too_late", message=str(error))
        except (TimeoutError, httpx.TimeoutException) as error:
            return Interrupted(id=asked.id, kind="timeout", message=_told(error, call.exchange))
        except LIBRARY_ERRORS as error:
            return _lost(asked, error, method, call)
        except MemoryError:
            end_out_of_memory()
            raise
        except Exception as error:  # noqa: BLE001 - a fault of the provider: its other calls go on
            return Raised(id=asked.id, message=_told(error, call.exchange))


async def _gave(asked: Perform, method: Method, output: BaseModel, call: HostedCall) -> Ended:
    """The output, checked against its model and its bound."""
    if not isinstance(output, method.output):
        return _failed(asked, ToolFailed("the provider gave another model than it declares"), method, call)
    try:
        told = _writer(method.output).dump_json(output, by_alias=True, warnings="error")
    except PydanticSerializationError as error:
        raised = f"the provider's output is not what it declares: {error}"
        return _failed(asked, ToolFailed(raised, code="response_invalid"), method, call)
    if len(told) > asked.max_output_bytes:
        message = f"the output has {len(told)} bytes; at most {asked.max_output_bytes} are taken"
        return _failed(asked, ToolFailed(message, code="response_too_large"), method, call)
    try:
        if len(told) <= LARGE_BYTES:
            return Gave(id=asked.id, output=_storable(told))
        return Gave(id=asked.id, output=await asyncio.to_thread(_storable, told))
    except Unreadable as error:
        raised = f"the provider's output cannot be stored: {error.message}"
        return _failed(asked, ToolFailed(raised, code="response_invalid"), method, call)


@lru_cache
def _writer(model: type[BaseModel]) -> TypeAdapter[BaseModel]:
    return TypeAdapter(model)


def _storable(told: bytes) -> Json:
    """The output as every reader of JSON reads it, one level inside of what tells it. Raises: Unreadable."""
    return parse_json(b'{"output":' + without_nul(told) + b"}")["output"]


def without_nul(told: bytes) -> bytes:
    """JSON in which a letter that no store keeps has given way to the sign for one; an escaped backslash stays one."""
    if NUL not in told:
        return told  # what is nearly always so is known at once: a search in ten megabytes holds everybody up
    first, *rest = told.split(NUL)
    found = [first]
    for part in rest:
        backslashes = len(found[-1]) - len(found[-1].rstrip(b"\\"))
        found += (NUL if backslashes % 2 else b"\\ufffd", part)
    return b"".join(found)


def _lost(asked: Perform, error: Exception, method: Method, call: HostedCall) -> Ended:
    """No answer; where only reading requests had left of a method that changes something, it had not begun."""
    told = _told(error, call.exchange)
    if call.exchange.is_sent and call.exchange.effects == 0 and method.contract.effect != "read":
        failure = ToolFailed(told, code="connection_failed", retryable=True, has_effect=False)
        return _failed(asked, failure, method, call)
    return Interrupted(id=asked.id, kind="lost", message=told)


def _failed(asked: Perform, failure: ToolFailed, method: Method, call: HostedCall) -> FailedMethod:
    status = None if failure.response is None else failure.response.status_code
    return FailedMethod(
        id=asked.id,
        code=failure.code if failure.code in CODES else "provider_failed",
        message=_words(failure.message, call.exchange),
        retryable=failure.retryable or status in method.retry_on,
        retry_after_s=failure.retry_after_s,
        response=None if failure.response is None else _excerpt(failure.response, call.exchange),
        effects=call.exchange.effects,
        has_effect=failure.has_effect,
    )


def _excerpt(response: httpx.Response, exchange: Exchange) -> ResponseExcerpt:
    """The beginning of an answer, for people."""
    headers: dict[str, str] = {}
    room = MAX_EXCERPT_HEADERS
    for name, value in response.headers.items():
        room -= len(name) + len(value)
        if room >= 0:
            headers[name.lower()] = value.replace("\x00", "\ufffd")
    said = exchange.concealed(response.content, MAX_EXCERPT_BYTES)
    text = said.decode("utf-8", "replace").replace("\x00", "\ufffd")
    cut = text.encode()[:MAX_EXCERPT_BYTES].decode("utf-8", "ignore")
    return ResponseExcerpt(status_code=response.status_code, headers=headers, body_excerpt=cut)


def _faults(side: Side, model: type[BaseModel] | None, given: Json) -> tuple[SideFault, ...]:
    if model is None:
        return (SideFault(side=side, path="", message="nothing has to be set up"),) if given else ()
    try:
        model.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_FAULTS]
        return tuple(
            SideFault(
                side=side,
                path=storable(fault_path(*one["loc"])),
                message=storable(fault_message(one["type"], one["msg"]))[:MAX_WORDS],
            )
            for one in found
        )
    return ()


def _words(text: str, exchange: Exchange) -> str:
    """The beginning of what is told to people."""
    return exchange.concealed(storable(text).encode()).decode(errors="replace")[:MAX_WORDS]


def _told(error: BaseException, exchange: Exchange) -> str:
    words = _words(str(error), exchange)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
