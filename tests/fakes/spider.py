"""
Spider, the crawler in the cloud.

Formats: https://spider.cloud/docs/api and https://spider.cloud/docs/core/error-codes; `spider-client`, the vendor's
client, reads what is answered here.
"""

import base64
import csv
import io
import json
from typing import Any

from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json

PICTURE = b"\x89PNG\r\n\x1a\n of a page"


class Spider(FakeVendor):
    """Each site has two pages, the second of which is broken."""

    def _setup(self) -> dict[str, Any]:
        return {"spider_api_key": KEY, "base_url": self.url}

    def _is_known(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {KEY}"

    def _answer(self, request: Request) -> Response:
        asked = json.loads(request.get_data())
        endpoint = request.path.removeprefix("/v1").removeprefix("/")  # either may be asked
        if request.method != "POST":
            return as_json({"error": "Method Not Allowed", "status": 405}, 405)
        if endpoint == "search" and "search" in asked:
            return as_json({"content": _found(asked["search"])[: asked.get("search_limit", 10)]})
        if endpoint not in {"crawl", "links", "screenshot"} or "url" not in asked:
            return as_json({"error": "url is required", "status": 400}, 400)
        pages = _pages(asked["url"], endpoint)[: asked.get("limit") or None]
        match request.headers["content-type"]:
            case "application/jsonl":
                lines = "".join(f"{json.dumps(page)}\n" for page in pages)
                return Response(lines, content_type="application/jsonl")
            case "text/csv":
                return Response(_as_csv(pages), content_type="text/csv")
            case "application/xml":
                inside = "".join(f"<page><url>{page['url']}</url></page>" for page in pages)
                return Response(f"<pages>{inside}</pages>", content_type="application/xml")
            case _:
                return as_json(pages)

    def _refusal(self, status: int) -> Response:
        return as_json({"error": self.words, "status": status}, status)


def _found(query: str) -> list[dict[str, Any]]:
    return [
        {"title": f"All about {query}", "description": "Everything there is.", "url": "https://example.com/all"},
        {"title": f"More about {query}", "description": "And more.", "url": "https://example.com/more"},
    ]


def _pages(url: str, endpoint: str) -> list[dict[str, Any]]:
    costs = {"ai_cost": 0, "compute_cost": 0.0001, "file_cost": 0.0002, "total_cost": 0.0003}
    content = {"crawl": "# A page", "screenshot": base64.b64encode(PICTURE).decode(), "links": None}[endpoint]
    first = {"content": content, "error": None, "status": 200, "url": url, "costs": costs, "duration_elapsed_ms": 12}
    if endpoint == "links":
        del first["content"]
    return [first, {"content": "", "error": "timed out", "status": 524, "url": f"{url}broken", "costs": costs}]


def _as_csv(pages: list[dict[str, Any]]) -> str:
    told = io.StringIO()
    table = csv.DictWriter(told, ["url", "content", "error", "status"], extrasaction="ignore")
    table.writeheader()
    table.writerows(pages)
    return told.getvalue()
