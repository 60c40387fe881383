"""
Algolia, search in one index.

Formats: https://www.algolia.com/doc/rest-api/search/search-single-index; `algoliasearch`, the vendor's client, reads
what is answered here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json

APPLICATION = "4GSKQXLV5N"
BOOKS = [
    {"objectID": "1", "title": "The Left Hand of Darkness", "author": "Ursula K. Le Guin"},
    {"objectID": "2", "title": "The Dispossessed", "author": "Ursula K. Le Guin"},
    {"objectID": "3", "title": "Roadside Picnic", "author": "Arkady and Boris Strugatsky"},
]


class Algolia(FakeVendor):
    """The index `books/2026` holds `BOOKS`, unless told otherwise; a query finds those with that word in them."""

    index = "books/2026"
    books: Sequence[Mapping[str, Any]] = BOOKS

    def _setup(self) -> dict[str, Any]:
        return {"algolia_application_id": APPLICATION, "algolia_api_key": KEY, "base_url": self.url}

    def _is_known(self, request: Request) -> bool:
        headers = request.headers
        return (headers.get("x-algolia-application-id"), headers.get("x-algolia-api-key")) == (APPLICATION, KEY)

    def _answer(self, request: Request) -> Response:
        if request.method != "POST" or unquote(request.environ["RAW_URI"]) != f"/1/indexes/{self.index}/query":
            return as_json({"message": "Index does not exist", "status": 404}, 404)
        asked = json.loads(request.get_data())
        found = [book for book in self.books if asked.get("query", "").lower() in json.dumps(book).lower()]
        size, wanted = asked.get("hitsPerPage", 20), asked.get("attributesToRetrieve", ["*"])
        hits = [
            {name: text for name, text in book.items() if name == "objectID" or _fits(name, wanted)} for book in found
        ]
        return as_json(
            {
                "hits": hits[:size],
                "nbHits": len(hits),
                "page": 0,
                "nbPages": -(-len(hits) // size),
                "hitsPerPage": size,
                "exhaustiveNbHits": True,
                "exhaustiveTypo": True,
                "exhaustive": {"nbHits": True, "typo": True},
                "query": asked.get("query", ""),
                "params": "",
                "renderingContent": {},
                "processingTimeMS": 3,
                "processingTimingsMS": {"total": 3},
                "serverTimeMS": 4,
            }
        )

    def _refusal(self, status: int) -> Response:
        return as_json({"message": self.words, "status": status}, status)


def _fits(name: str, wanted: list[str]) -> bool:
    return name in wanted or "*" in wanted
