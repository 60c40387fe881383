"""What a server wants to know before it goes on with a call, and what people answer. Source: MCP 2026-07-28."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from toolbus_contracts.tools import AskUser, JsonObject
from toolbus_contracts.values import Json, Message

MAX_ROUNDS: Final = 10  # of questions within one call: as many as the protocol's own clients go along with
MAX_STATE_BYTES: Final = 64 * 1024
MAX_FORM_BYTES: Final = 64 * 1024
MAX_ASKED_BYTES: Final = 256 * 1024  # of all that a server wants, as JSON: one message holds it, and more beside it


class Question(Message):
    """
    One thing that a server asks, under the name by which it wants the answer.

    `properties` are those of its answer, by the field of the form that fills them. What has none, and what sends a
    person to a url, is answered with yes or no, in the field `consent`.
    """

    name: str
    mode: Literal["form", "url"] = "form"
    properties: dict[str, str] = Field(default_factory=dict)
    consent: str | None = None


class InputAsked(Message):
    """
    What a server wants before it goes on: a form that a person fills in, or (none) just the same call again.

    `request_state` is the server's own: it comes back to it unread.
    """

    form: AskUser | None = None
    questions: tuple[Question, ...] = ()
    request_state: str | None = None


class Continued(Message):
    """
    What a call brings along to the server that goes on with it.

    `responses` answer what it asked last, by the names of its questions; `before` is what it was told in earlier
    rounds, which is not sent again and belongs to what somebody approves.
    """

    responses: dict[str, JsonObject] = Field(default_factory=dict)
    before: dict[str, JsonObject] = Field(default_factory=dict)
    request_state: str | None = None

    @property
    def given(self) -> dict[str, JsonObject]:
        """All that the server was told, or will be."""
        return {**self.before, **self.responses}


class Asked(Message):
    """State of the questions of a server: `answers` is what a person filled into the form, none while it is open."""

    round: int
    wanted: InputAsked
    before: dict[str, JsonObject] = Field(default_factory=dict)
    answers: JsonObject | None = None

    @property
    def is_open(self) -> bool:
        """True while a person is asked."""
        return self.answers is None

    @property
    def continued(self) -> Continued:
        """What the call brings along to the server."""
        return Continued(
            responses={} if self.answers is None else responses_to(self.wanted, self.answers),
            before=self.before,
            request_state=self.wanted.request_state,
        )


def asked_next(before: Asked | None, wanted: InputAsked) -> Asked:
    """The next round of questions. What needs no person is answered at once, with nothing."""
    return Asked(
        round=1 if before is None else before.round + 1,
        wanted=wanted,
        before={} if before is None else before.continued.given,
        answers={} if wanted.form is None else None,
    )


def responses_to(wanted: InputAsked, answers: Mapping[str, Json]) -> dict[str, JsonObject]:
    """The answers as the server wants them, by the names of its questions; a no declines one."""
    return {question.name: _response(question, answers) for question in wanted.questions}


def _response(question: Question, answers: Mapping[str, Json]) -> JsonObject:
    if question.consent is not None and answers.get(question.consent) is not True:
        return {"action": "decline"}
    if question.mode == "url":
        return {"action": "accept"}
    content = {name: answers[field] for field, name in question.properties.items() if field in answers}
    return {"action": "accept", "content": content}
