"""
Brave Search, web search.

Formats: https://api-dashboard.search.brave.com/app/documentation/web-search/responses, and the errors that
https://api-dashboard.search.brave.com/documentation/guides/error-handling shows. The vendor's model of an answer
(`brave-search-python-client`) reads what is answered here.
"""

from typing import Any

from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json

CODES = {401: "SUBSCRIPTION_TOKEN_INVALID", 422: "VALIDATION", 429: "RATE_LIMITED"}
PAGES = [
    ("“Hello, World!” program - Wikipedia", "https://en.wikipedia.org/wiki/%22Hello,_World!%22_program", "A program."),
    ("Hello World (film)", "https://en.wikipedia.org/wiki/Hello_World_(film)", "An anime of 2019."),
    ("GitHub - leachim6/hello-world", "https://github.com/leachim6/hello-world", "Hello world in every language."),
    ("Hello World - Louis Tomlinson", "https://example.com/music", "A song."),
]


class Brave(FakeVendor):
    """Finds as many of `PAGES` as are asked for; nothing for the query `nothing`."""

    def _setup(self) -> dict[str, Any]:
        return {"brave_api_key": KEY, "base_url": self.url}

    def _is_known(self, request: Request) -> bool:
        return request.headers.get("x-subscription-token") == KEY

    def _answer(self, request: Request) -> Response:
        asked = request.args
        if request.method != "GET" or request.path != "/res/v1/web/search":
            return self._refusal(404)
        count = int(asked.get("count", "20"))
        if not 1 <= count <= 20 or not 1 <= len(asked.get("q", "")) <= 400:
            return self._refusal(422)
        found: dict[str, Any] = {
            "type": "search",
            "query": {"original": asked["q"], "show_strict_warning": False, "more_results_available": True},
        }
        if asked["q"] != "nothing":
            found["web"] = {
                "type": "search",
                "family_friendly": True,
                "results": [_hit(*page) for page in PAGES[:count]],
            }
        return as_json(found)

    def _refusal(self, status: int) -> Response:
        error = {
            "id": "ade84851-a6f3-4cf9-8c76-1dc897718b0b",
            "status": status,
            "code": CODES.get(status, "INTERNAL"),
            "detail": self.words,
            "meta": {},
        }
        return as_json({"type": "ErrorResponse", "error": error, "time": 1754364294}, status)


def _hit(title: str, url: str, description: str) -> dict[str, Any]:
    return {
        "type": "search_result",
        "subtype": "generic",
        "title": title,
        "url": url,
        "description": description,
        "is_source_local": False,
        "is_source_both": False,
        "language": "en",
        "family_friendly": True,
    }
