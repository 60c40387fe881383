"""
Mailgun: messages that are queued for a domain.

Formats: https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages; a wrong key is answered
with one word and no JSON. The vendor's own client (`mailgun`) sends here too.
"""

import re
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json

PATH = re.compile(r"/v3/(?P<domain>[^/]+)/messages")


class Mailgun(FakeVendor):
    """`messages` are the domains and fields of what was queued."""

    def __init__(self, server: HTTPServer) -> None:
        self.messages: list[tuple[str, dict[str, list[str]]]] = []
        super().__init__(server)

    def _setup(self) -> dict[str, Any]:
        return {"api_key": KEY, "base_url": self.url}

    def _is_known(self, request: Request) -> bool:
        found = request.authorization
        return found is not None and (found.username, found.password) == ("api", KEY)

    def _answer(self, request: Request) -> Response:
        found = PATH.fullmatch(request.path)
        if request.method != "POST" or found is None:
            return self._refusal(404)
        fields = request.form.to_dict(flat=False)
        if not {"from", "to", "subject"} <= fields.keys() or not {"text", "html"} & fields.keys():
            return self._refusal(400)
        self.messages.append((found["domain"], fields))
        number = len(self.messages)
        return as_json({"id": f"<20261130120000.{number}@{found['domain']}>", "message": "Queued. Thank you."})

    def _refusal(self, status: int) -> Response:
        if status == 401:
            return Response("Forbidden", 401, content_type="text/plain")
        return as_json({"message": self.words}, status)
