"""Brave Search: a web search with an index of its own."""

from typing import Final, Literal

from pydantic import BaseModel, Field

from toolbus.provider import READ, Call, Info, Provider
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key, Vendor

BRAVE: Final = Vendor("Brave Search", told_at=(("error", "detail"),))


class Setup(Closed):
    """`brave_api_key`: a subscription token for web search."""

    brave_api_key: Key
    base_url: BaseUrl = "https://api.search.brave.com"


provider = Provider(
    "brave",
    info=Info(
        friendly_name="Brave Search",
        url="https://brave.com/search/api/",
        docs="https://api-dashboard.search.brave.com/app/documentation/web-search/get-started",
    ),
    setup=Setup,
)


class Search(Closed):
    """What to look for, in at most 400 characters and 50 words (the vendor's bounds)."""

    query: str = Field(min_length=1, max_length=400, description="What to look for.")
    count: int = Field(default=3, ge=1, le=20, description="How many pages at most.")


class Page(BaseModel):
    """A page that was found; `snippet` is what it says about the query."""

    title: str
    link: str
    snippet: str


class Found(BaseModel):
    """The pages, best first."""

    result: list[Page]


class _Hit(BaseModel):
    title: str
    url: str
    description: str = ""


class _Web(BaseModel):
    results: list[_Hit]


class _Answer(BaseModel):
    type: Literal["search"]
    web: _Web | None = None  # left out when no page was found


@provider.method(contract=READ, retry_on=(500, 502))
async def search(arguments: Search, setup: Setup, call: Call) -> Found:
    """Search the web."""
    answer = await BRAVE.answer(
        call.get(
            f"{setup.base_url}/res/v1/web/search",
            # Otherwise snippets come with HTML around the words that were looked for.
            params={"q": arguments.query, "count": arguments.count, "text_decorations": "false"},
            headers={"accept": "application/json", "x-subscription-token": setup.brave_api_key},
        )
    )
    web = BRAVE.read(answer, _Answer).web
    hits = web.results if web else []
    return Found(result=[Page(title=hit.title, link=hit.url, snippet=hit.description) for hit in hits])
