"""Reading server-sent events from text that arrives in pieces. Source: WHATWG HTML §9.2."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class SentEvent:
    """One event: its id (of this or an earlier one), its type and its data."""

    id: str
    event: str
    data: str


class SseDecoder:
    """Turns pieces of a stream into events; comments and half an event at the end are left out."""

    def __init__(self) -> None:
        self._rest = ""
        self._is_start = True
        self._id = ""
        self._event = ""
        self._data: list[str] = []

    def feed(self, piece: str) -> Iterator[SentEvent]:
        """Take the next piece and give the events that it completes."""
        if self._is_start and piece:
            piece = piece.removeprefix("\ufeff")
            self._is_start = False
        text = self._rest + piece
        held = "\r" if text.endswith("\r") else ""  # its line feed may come with the next piece
        *lines, self._rest = _LINE_END.split(text[: len(text) - len(held)])
        self._rest += held
        for line in lines:
            event = self._take(line)
            if event is not None:
                yield event

    def _take(self, line: str) -> SentEvent | None:
        if not line:
            return self._finish()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self._id = value
            case _:
                pass  # a comment (no name), `retry`, or a field of the future
        return None

    def _finish(self) -> SentEvent | None:
        event, self._event = self._event or "message", ""
        data, self._data = self._data, []
        return SentEvent(self._id, event, "\n".join(data)) if data else None
