"""
What fakes of vendors share: a server on loopback that answers in a vendor's format, and can be in any kind of trouble.

That a fake speaks as the vendor does is not for our clients to say: the vendors' own clients are set on the same fakes
(`make vendors`), and where there is none the samples are the vendor's published ones.
"""

import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

KEY = "the-right-key-4711"


class FakeVendor(ABC):
    """A vendor's server; `requests` are those it got, in order, and `words` are in each of its errors."""

    words = "something is wrong on our side of the wire"

    def __init__(self, server: HTTPServer) -> None:
        self.server = server
        self.requests: list[Request] = []
        self.release = threading.Event()
        self.spared = 0  # so many requests are answered before any trouble begins
        self.failing: int | None = None  # after so many that were not, it is over
        self._trouble: Callable[[], Response] | None = None
        server.expect_request(re.compile(r"/.*")).respond_with_handler(self._respond)

    @property
    def url(self) -> str:
        """Where it is, by its address (the guard refuses names that stand for this machine), without a slash."""
        return f"http://127.0.0.1:{self.server.port}"

    @property
    def setup(self) -> dict[str, Any]:
        """A setup with which the provider reaches it."""
        return self._setup()

    @abstractmethod
    def _setup(self) -> dict[str, Any]: ...

    def _is_known(self, request: Request) -> bool:  # noqa: ARG002 some vendors know everybody
        """Whether the request bears the right key."""
        return True

    @abstractmethod
    def _answer(self, request: Request) -> Response:
        """What the vendor answers to whom it knows."""

    @abstractmethod
    def _refusal(self, status: int) -> Response:
        """An error of the vendor with this status, in its format, with `words` in it."""

    def fail(self, status: int, **headers: str) -> None:
        """Every request gets an error of the vendor, headers (`retry_after`) among it."""

        def refused() -> Response:
            response = self._refusal(status)
            response.headers.extend({name.replace("_", "-"): text for name, text in headers.items()})
            return response

        self._trouble = refused

    def say(self, body: bytes, content_type: str = "application/json", status: int = 200) -> None:
        """Every request gets this."""
        self._trouble = lambda: Response(body, status, content_type=content_type)

    def hang(self) -> None:
        """No request gets an answer before `release`."""

        def hanging() -> Response:
            self.release.wait(30)
            return self._refusal(500)

        self._trouble = hanging

    def break_off(self) -> None:
        """Every answer ends before it is whole."""
        self._trouble = lambda: Response(iter([b"{"]), headers={"content-length": "1000"})

    def recover(self) -> None:
        """It is in no trouble any more."""
        self._trouble = None

    def sent(self, index: int = -1) -> Any:
        """The JSON body of a request, the last one unless told."""
        return json.loads(self.requests[index].get_data())

    def _respond(self, request: Request) -> Response:
        request.get_data()  # kept for those who ask later
        self.requests.append(request)
        number = len(self.requests) - self.spared
        if self._trouble is not None and number > 0 and (self.failing is None or number <= self.failing):
            return self._trouble()
        return self._answer(request) if self._is_known(request) else self._refusal(401)


def as_json(body: object, status: int = 200) -> Response:
    """A response in JSON."""
    return Response(json.dumps(body), status=status, content_type="application/json")
