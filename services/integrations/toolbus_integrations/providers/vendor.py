"""
What providers of web services share: how their setup is written, and how an answer that was not hoped for is told.

A vendor's error is told in the vendor's own words, with the status; what it means for the call (whether to try again,
and when) is decided by `call.request` and kept.
"""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

import httpx
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError
from pydantic_core import from_json

from toolbus.provider import ToolFailed

MAX_WORDS: Final = 500  # of an error, in characters
Model = TypeVar("Model", bound=BaseModel)


class Closed(BaseModel):
    """A model of what is given to a provider: a field it does not know is refused, so that nothing is ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _check_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error
    return text


Key = Annotated[str, Field(min_length=1, repr=False, json_schema_extra={"format": "password", "writeOnly": True})]
BaseUrl = Annotated[
    str,
    StringConstraints(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$"),
    AfterValidator(lambda url: url.rstrip("/")),
]
Base64 = Annotated[str, AfterValidator(_check_base64), Field(json_schema_extra={"contentEncoding": "base64"})]


@dataclass(frozen=True)
class Vendor:
    """
    Who answers: the name that people know, and where a JSON body of theirs tells what went wrong.

    `told_at` holds paths into such a body; the first that leads to words counts.
    """

    name: str
    told_at: tuple[tuple[str, ...], ...]

    async def answer(self, asking: Awaitable[httpx.Response]) -> httpx.Response:
        """
        The vendor's answer to a request.

        Raises:
            ToolFailed: as the request raises it; an error of the vendor's in the vendor's words.
        """
        try:
            return await asking
        except ToolFailed as failure:
            if failure.response is None or not failure.response.is_error:
                raise
            raise ToolFailed(
                f"{self.name}: {self.words(failure.response)} (HTTP {failure.response.status_code})",
                code=failure.code,
                retryable=failure.retryable,
                retry_after_s=failure.retry_after_s,
                response=failure.response,
                has_effect=failure.has_effect,
            ) from failure

    def read(self, answer: httpx.Response, model: type[Model]) -> Model:
        """
        The answer as a model.

        Raises:
            ToolFailed: `response_invalid`, naming the first place that does not fit.
        """
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            raise self.unreadable(answer, "/".join(map(str, first["loc"])) or "body", first["msg"]) from error

    def unreadable(self, answer: httpx.Response, place: str, reason: str) -> ToolFailed:
        """The failure of an answer that is not what the vendor documents."""
        message = one_line(f"{self.name} answered with something that cannot be read: {place}: {reason}")
        return ToolFailed(message, code="response_invalid", response=answer)

    def words(self, answer: httpx.Response) -> str:
        """What the answer says went wrong: its message, else its text, else what the status means; one line."""
        try:
            body: JsonValue = from_json(answer.content)
        except ValueError:
            is_markup = answer.text.lstrip().startswith("<")
            return one_line("" if is_markup else answer.text) or answer.reason_phrase or "no reason given"
        found = (one_line(_text(_follow(body, path))) for path in self.told_at)
        return next(filter(None, found), "") or answer.reason_phrase or "no reason given"


@asynccontextmanager
async def beforehand(what: str, *, within_s: float) -> AsyncIterator[None]:
    """
    What is asked in here comes before anything is done: fails it, or takes it longer, then nothing has happened.

    Raises:
        ToolFailed: as it is raised in here, also to be tried again where the vendor is broken (5xx);
            `connection_failed`, which begins with `what`, when no answer came.
    """
    try:
        async with asyncio.timeout(within_s):
            yield
    except ToolFailed as failure:
        is_broken = failure.response is not None and failure.response.is_server_error
        failure.retryable, failure.has_effect = failure.retryable or is_broken, False
        raise
    except (httpx.HTTPError, OSError) as error:  # a timeout is an OSError too
        message = f"{what}: {str(error) or 'no answer in time'}"
        raise ToolFailed(message, code="connection_failed", retryable=True, has_effect=False) from error


def _follow(body: JsonValue, path: tuple[str, ...]) -> JsonValue:
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def _text(found: JsonValue) -> str:
    """Words as they stand, or those of each fault in a list of faults (`msg`, as FastAPI tells them)."""
    if isinstance(found, list):
        return "; ".join(filter(None, (_text(one.get("msg") if isinstance(one, dict) else one) for one in found)))
    return found if isinstance(found, str) else ""


def one_line(text: str) -> str:
    """What a vendor said as one line that a terminal can show, cut off after `MAX_WORDS` characters."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= MAX_WORDS else f"{line[: MAX_WORDS - 1]}…"
