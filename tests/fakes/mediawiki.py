"""
A wiki of MediaWiki: what it is, what it finds, and articles as plain text.

Formats: https://www.mediawiki.org/wiki/API:Search, https://www.mediawiki.org/wiki/Extension:TextExtracts, both versions
of the format; `pymediawiki`, a client that others wrote, reads what is answered here.
"""

from collections.abc import Mapping
from typing import Any

from werkzeug import Request, Response

from tests.fakes.vendor import FakeVendor, as_json

ARTICLES = {
    5391: ("Ada Lovelace", "Ada was a mathematician.\n\n\n== Life ==\nBorn in London.\n\n\n=== Youth ===\nBooks."),
    9316: ("Ada (programming language)", "Ada is a language.\n\n\n== History ==\nNamed after Ada Lovelace."),
    7777: ("Analytical Engine", "The engine that Ada wrote for. " * 400),
}


class MediaWiki(FakeVendor):
    """Finds `ARTICLES`, unless told otherwise, by a word in them."""

    articles: Mapping[int, tuple[str, str]] = ARTICLES

    fault: dict[str, str] | None = None  # what is told with status 200
    retry_after: str | None = None
    is_silent = False  # of articles, though it finds them

    def _setup(self) -> dict[str, Any]:
        return {"base_url": self.url}

    def _answer(self, request: Request) -> Response:
        asked = request.args
        if request.method != "GET" or request.path != "/w/api.php" or asked.get("format") != "json":
            return Response("<!DOCTYPE html><title>MediaWiki API help</title>", content_type="text/html")
        if self.fault is not None:
            response = as_json({"error": self.fault, "servedby": "mw-api-ext"})
            if self.retry_after is not None:
                response.headers["retry-after"] = self.retry_after
            return response
        if asked.get("meta") == "siteinfo":
            return as_json({"batchcomplete": "", "query": _site(self.url)})
        is_second = asked.get("formatversion") == "2"
        done: dict[str, Any] = {"batchcomplete": True if is_second else ""}
        if asked.get("list") == "search":
            found = [
                {"ns": 0, "title": title, "pageid": number}
                for number, (title, text) in self.articles.items()
                if asked["srsearch"].lower() in f"{title} {text}".lower()
            ]
            hits = found[: int(asked.get("srlimit", "10"))]
            return as_json({**done, "query": {"searchinfo": {"totalhits": len(found)}, "search": hits}})
        if self.is_silent:
            return as_json(done)
        numbers = [number for number, (title, _) in self.articles.items() if _is_asked(number, title, request)]
        pages = [self._page(number, asked.get("prop", "").split("|")) for number in numbers]
        return as_json({**done, "query": {"pages": pages if is_second else {str(one["pageid"]): one for one in pages}}})

    def _refusal(self, status: int) -> Response:
        return as_json({"errorKey": "rest-error", "httpCode": status, "httpReason": self.words}, status)

    def _page(self, number: int, wanted: list[str]) -> dict[str, Any]:
        title, text = self.articles[number]
        page: dict[str, Any] = {"pageid": number, "ns": 0, "title": title}
        if "info" in wanted:
            url = f"{self.url}/wiki/{title.replace(' ', '_')}"
            page |= {"contentmodel": "wikitext", "pagelanguage": "en", "length": len(text), "fullurl": url}
        if "extracts" in wanted:
            page["extract"] = text
        if "revisions" in wanted:
            page["revisions"] = [{"revid": 2, "parentid": 1}]
        return page


def _is_asked(number: int, title: str, request: Request) -> bool:
    asked = request.args
    return str(number) in asked.get("pageids", "").split("|") or title in asked.get("titles", "").split("|")


def _site(url: str) -> dict[str, Any]:
    general = {"generator": "MediaWiki 1.45.0", "server": url, "lang": "en", "sitename": "Wikipedia"}
    return {"general": general, "extensions": [{"type": "parserhook", "name": "TextExtracts"}]}
