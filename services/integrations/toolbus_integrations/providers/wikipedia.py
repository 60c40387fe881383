"""
Wikipedia, or any other wiki of MediaWiki: articles that speak of something, as plain text.

One request finds the articles, and one for each reads it, one after the other, as the wiki asks of its readers.
Source: https://www.mediawiki.org/wiki/API:Etiquette
"""

from typing import Final, TypeVar

import httpx
from pydantic import BaseModel, Field

from toolbus.provider import READ, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Vendor, one_line

WIKI: Final = Vendor("Wikipedia", told_at=(("error", "info"), ("httpReason",)))
# The Foundation asks programs to say who they are: https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy
USER_AGENT: Final = "toolbus-wikipedia/0.1 (a tool of Toolbus; httpx)"
LATER: Final = frozenset({"maxlag", "ratelimited", "readonly"})  # errors that pass: 200 with an error inside


class Setup(Closed):
    """`base_url`: a wiki with its interface at `/w/api.php`; the German Wikipedia is `https://de.wikipedia.org`."""

    base_url: BaseUrl = "https://en.wikipedia.org"


provider = Provider(
    "wikipedia",
    info=Info(
        friendly_name="Wikipedia", url="https://www.wikipedia.org", docs="https://www.mediawiki.org/wiki/API:Search"
    ),
    setup=Setup,
)


class Search(Closed):
    """`doc_content_chars_max`: an article is cut off there."""

    query: str = Field(min_length=1, max_length=300, description="What to look for, in at most 300 characters.")
    load_max_docs: int = Field(default=2, ge=1, le=10, description="How many articles at most.")
    doc_content_chars_max: int = Field(
        default=4000, ge=1, le=200_000, description="How many characters of an article at most."
    )


class Metadata(BaseModel):
    """The article: `source` is its url, `summary` all before its first heading, `is_cut` whether there is more."""

    title: str
    summary: str
    source: str
    page_id: int
    is_cut: bool


class Document(BaseModel):
    """An article as plain text."""

    page_content: str
    metadata: Metadata


class Found(BaseModel):
    """The articles, best first."""

    documents: list[Document]


class _Fault(BaseModel):
    code: str
    info: str


class _Answer(BaseModel):
    error: _Fault | None = None


class _Hit(BaseModel):
    pageid: int


class _Hits(BaseModel):
    search: list[_Hit]


class _Found(_Answer):
    query: _Hits | None = None


class _Page(BaseModel):
    title: str
    pageid: int
    fullurl: str
    extract: str = ""


class _Pages(BaseModel):
    pages: list[_Page] = Field(min_length=1)


class _Read(_Answer):
    query: _Pages | None = None


Answer = TypeVar("Answer", bound=_Answer)


@provider.method(contract=READ, retry_on=(500, 502))
async def search(arguments: Search, setup: Setup, call: Call) -> Found:
    """Find articles of Wikipedia, and read them."""
    answer = await _ask(
        call, setup, {"list": "search", "srsearch": arguments.query, "srlimit": arguments.load_max_docs, "srprop": ""}
    )
    found = _read(answer, _Found).query
    if found is None:
        raise WIKI.unreadable(answer, "query", "missing")
    documents = [await _document(call, setup, hit.pageid, arguments.doc_content_chars_max) for hit in found.search]
    return Found(documents=documents)


async def _document(call: Call, setup: Setup, page_id: int, limit: int) -> Document:
    params: dict[str, str | int] = {"prop": "extracts|info", "inprop": "url", "explaintext": 1, "pageids": page_id}
    answer = await _ask(call, setup, params)
    query = _read(answer, _Read).query
    if query is None:
        raise WIKI.unreadable(answer, "query", "missing")
    page = query.pages[0]
    summary = page.extract.partition("\n==")[0].strip()  # headings of plain text start with two equal signs
    return Document(
        page_content=page.extract[:limit],
        metadata=Metadata(
            title=page.title,
            summary=summary[:limit],
            source=page.fullurl,
            page_id=page.pageid,
            is_cut=len(page.extract) > limit,
        ),
    )


async def _ask(call: Call, setup: Setup, params: dict[str, str | int]) -> httpx.Response:
    return await WIKI.answer(
        call.get(
            f"{setup.base_url}/w/api.php",
            params={"action": "query", "format": "json", "formatversion": 2, **params},
            headers={"user-agent": USER_AGENT},
        )
    )


def _read(answer: httpx.Response, model: type[Answer]) -> Answer:
    """The answer as a model; the errors that MediaWiki tells with status 200 are raised."""
    found = WIKI.read(answer, model)
    if found.error is not None:
        after = answer.headers.get("retry-after", "")
        raise ToolFailed(
            f"Wikipedia: {one_line(found.error.info)} ({one_line(found.error.code)})",
            retryable=found.error.code in LATER,
            retry_after_s=float(after) if after.isdecimal() else None,
            response=answer,
        )
    return found
