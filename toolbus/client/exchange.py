"""What goes out and what comes back, as plain values; no I/O here."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from toolbus.client.failures import Problem, UnexpectedAnswer, problem_class
from toolbus_contracts.errors import Fault
from toolbus_contracts.values import Json

T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M", bound=BaseModel)
PROBLEM_JSON = "application/problem+json"
FIRST_ERROR = 400
EXCERPT = 200


@dataclass(frozen=True)
class Answer:
    """An answer that was read to its end. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def is_problem(self) -> bool:
        """True for an error that Toolbus itself wrote (a proxy in between writes others)."""
        return self.status >= FIRST_ERROR and self.headers.get("content-type", "").startswith(PROBLEM_JSON)

    def json(self) -> Json:
        """
        The body as JSON.

        Raises:
            UnexpectedAnswer: it is not JSON.
        """
        try:
            return json.loads(self.body)
        except ValueError as error:
            told = self.body[:EXCERPT].decode("utf-8", "replace")
            raise UnexpectedAnswer(f"HTTP {self.status} without JSON: {told!r}") from error


@dataclass(frozen=True)
class Lost:
    """No answer came. `may_have_arrived`: some of the request was, or may have been, handed over."""

    message: str
    may_have_arrived: bool


@dataclass(frozen=True)
class Request(Generic[T_co]):
    """
    One HTTP request and how its answer is read.

    `wait_s`: how long the server was asked to hold the answer. `is_repeatable`: sending it again after
    a lost answer adds nothing.
    """

    method: str
    path: str
    read: Callable[[Answer], T_co]
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    wait_s: float = 0.0
    is_repeatable: bool = True

    def with_query(self, **values: str | None) -> "Request[T_co]":
        """Set or replace query parameters; None leaves one out."""
        kept = tuple((name, value) for name, value in self.query if name not in values)
        return replace(self, query=(*kept, *((name, value) for name, value in values.items() if value is not None)))


@dataclass(frozen=True)
class Page(Generic[T_co]):
    """One page of a list."""

    items: tuple[T_co, ...]
    next_cursor: str | None


def dump(value: Json) -> bytes:
    """
    Write what a caller gave as JSON; models, dates and the like are converted.

    Raises:
        TypeError: a value has no form in JSON.
        ValueError: NaN or an infinity.
    """
    written = json.dumps(value, allow_nan=False, ensure_ascii=False, default=to_jsonable_python, separators=(",", ":"))
    return written.encode("utf-8", "surrogatepass")


def parse(kind: type[M], value: Json) -> M:
    """
    Read a view; fields that a newer server added are left out.

    Raises:
        UnexpectedAnswer: it does not fit.
    """
    try:
        return kind.model_validate(value, extra="ignore")
    except ValidationError as error:
        first = error.errors()[0]
        place = "/".join(str(part) for part in first["loc"]) or "/"
        raise UnexpectedAnswer(f"the answer is no {kind.__name__}: {place}: {first['msg']}") from error


def reading(kind: type[M]) -> Callable[[Answer], M]:
    """A reader for an answer that is one view."""
    return lambda answer: parse(kind, answer.json())


def reading_page(kind: type[M]) -> Callable[[Answer], Page[M]]:
    """A reader for an answer that is one page of views."""

    def read(answer: Answer) -> Page[M]:
        found = answer.json()
        if not isinstance(found, dict) or not isinstance(found.get("items"), list):
            raise UnexpectedAnswer("the answer is no list: it has no items")
        cursor = found.get("next_cursor")
        return Page(tuple(parse(kind, item) for item in found["items"]), None if cursor is None else str(cursor))

    return read


def problem_of(answer: Answer) -> Problem:
    """Make a typed error of an error answer, whoever wrote it."""
    told: Json = {}
    if answer.is_problem:
        try:
            told = json.loads(answer.body)
        except ValueError:
            told = {}
    return problem_from(told if isinstance(told, dict) else {}, answer.status, retry_after(answer))


def problem_from(told: Mapping[str, Json], status: int, retry_after_s: float | None = None) -> Problem:
    """Make a typed error of the fields of a problem document."""
    code = told.get("code")
    detail = told.get("detail") or told.get("title") or f"the server answered HTTP {status}"
    return problem_class(status)(
        str(code) if code else f"http_{status}",
        str(detail),
        _faults(told.get("errors")),
        _text(told.get("next_step")) if code else "Check the address; something in between may have answered.",
        http_status=status,
        instance=_text(told.get("instance")),
        call_id=_text(told.get("call_id")),
        retry_after_s=retry_after_s,
    )


def _faults(errors: Json) -> tuple[Fault, ...]:
    if not isinstance(errors, list):
        return ()
    return tuple(
        Fault(str(item.get("path", "")), str(item.get("message", ""))) for item in errors if isinstance(item, dict)
    )


def _text(value: Json) -> str | None:
    return None if value is None else str(value)


def retry_after(answer: Answer) -> float | None:
    """Seconds named by Retry-After; its form with a date is not used by Toolbus and counts as absent."""
    try:
        found = float(answer.headers.get("retry-after", ""))
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None
