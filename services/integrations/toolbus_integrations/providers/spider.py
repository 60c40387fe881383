"""
Spider: a crawler in the cloud that fetches pages, their links and pictures of them.

Spider fetches what it is asked for, not we; that it could also be asked for something inside our own network is no
reason to let anybody try, so the egress guard sees the url first. Crawling reads: parameters by which Spider would
write somewhere, or call somebody, are refused.
"""

import json
from typing import Annotated, Final, Literal, Self

import httpx
from pydantic import AfterValidator, BaseModel, Field, HttpUrl, JsonValue, RootModel, model_validator

from toolbus.provider import READ, Call, Info, Provider
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key, Vendor

SPIDER: Final = Vendor("Spider", told_at=(("error",), ("message",)))
WRITING: Final = frozenset({"webhooks", "data_connectors"})
CRAWL_TIMEOUT_S: Final = 300.0  # a crawl of many pages answers when it is done


class Setup(Closed):
    """`spider_api_key`: a key of Spider."""

    spider_api_key: Key
    base_url: BaseUrl = "https://api.spider.cloud"


provider = Provider(
    "spider",
    info=Info(friendly_name="Spider", url="https://spider.cloud", docs="https://spider.cloud/docs/api"),
    setup=Setup,
)


def _check_params(params: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if refused := WRITING & params.keys():
        raise ValueError(f"{', '.join(sorted(refused))} would make Spider write or call somewhere: not offered")
    if doubled := {"url", "search"} & params.keys():
        raise ValueError(f"{', '.join(sorted(doubled))} is an argument of its own")
    return params


PARAMS: Final = "Further parameters of Spider, such as limit, depth, return_format; sent as they are."
Params = Annotated[dict[str, JsonValue], AfterValidator(_check_params)]
ContentType = Annotated[
    Literal["application/json", "text/csv", "application/xml", "application/jsonl"],
    Field(description="How Spider answers; CSV and XML come as one text."),
]


class Target(Closed):
    """The page to begin with."""

    url: HttpUrl = Field(description="The page to begin with.")
    content_type: ContentType = "application/json"
    params: Params | None = Field(default=None, description=PARAMS)


class Query(Closed):
    """What to look for in the web: words, or a page by its `url`, as published examples have it."""

    query: str | None = Field(default=None, min_length=1, description="What to look for.")
    url: HttpUrl | None = Field(default=None, description="A page to look for, in the place of query.")
    content_type: ContentType = "application/json"
    params: Params | None = Field(default=None, description=PARAMS)

    @model_validator(mode="after")
    def _looks_for_one_thing(self) -> Self:
        if (self.query is None) == (self.url is None):
            raise ValueError("give either query or url")
        return self

    @property
    def words(self) -> str:
        """What is looked for."""
        return self.query if self.query is not None else str(self.url)


class Page(BaseModel):
    """
    What came of one page: its content, or why there is none, with the status that the page answered with.

    `content` is a text, or what Spider makes of the page when asked for more (a list, an object); `title` and
    `description` are there for what a search found.
    """

    url: str | None = None
    title: str | None = None
    description: str | None = None
    content: JsonValue = None
    links: list[str] | None = None
    error: str | None = None
    status: int | None = None
    costs: dict[str, JsonValue] | None = None


class Found(BaseModel):
    """A page each; of CSV and XML the whole answer as the content of one."""

    result: list[Page]


class _Pages(RootModel[list[Page]]):
    pass


class _Page(RootModel[Page]):
    pass


class _Content(BaseModel):
    content: list[Page]  # what was found in the web stands one level deeper


@provider.method(contract=READ, timeout_s=CRAWL_TIMEOUT_S, retry_on=(500, 502))
async def crawl(arguments: Target, setup: Setup, call: Call) -> Found:
    """Fetch a page and those that it links to, as far as `params` (`limit`, `depth`) allow."""
    return await _of_page("crawl", arguments, setup, call)


@provider.method(contract=READ, timeout_s=CRAWL_TIMEOUT_S, retry_on=(500, 502))
async def links(arguments: Target, setup: Setup, call: Call) -> Found:
    """Collect the links of a page."""
    return await _of_page("links", arguments, setup, call)


@provider.method(contract=READ, timeout_s=CRAWL_TIMEOUT_S, retry_on=(500, 502))
async def screenshot(arguments: Target, setup: Setup, call: Call) -> Found:
    """Take a picture of a page: `content` is the picture, base64."""
    return await _of_page("screenshot", arguments, setup, call)


@provider.method(contract=READ, timeout_s=CRAWL_TIMEOUT_S, retry_on=(500, 502))
async def search(arguments: Query, setup: Setup, call: Call) -> Found:
    """Search the web; with `fetch_page_content` in `params` the pages that are found are fetched too."""
    return await _ask(
        call,
        setup,
        "search",
        {"search": arguments.words, **(arguments.params or {})},
        content_type=arguments.content_type,
    )


async def _of_page(endpoint: str, arguments: Target, setup: Setup, call: Call) -> Found:
    url = str(arguments.url)
    await call.examine(url)
    return await _ask(
        call, setup, endpoint, {"url": url, **(arguments.params or {})}, content_type=arguments.content_type
    )


async def _ask(call: Call, setup: Setup, endpoint: str, body: dict[str, JsonValue], *, content_type: str) -> Found:
    answer = await SPIDER.answer(
        call.post(
            f"{setup.base_url}/v1/{endpoint}",
            content=json.dumps(body).encode(),
            # The body is JSON all the same: Spider takes the type of the request as the wish for the answer's.
            headers={"content-type": content_type, "authorization": f"Bearer {setup.spider_api_key}"},
        )
    )
    return Found(result=_pages(answer, content_type))


def _pages(answer: httpx.Response, content_type: str) -> list[Page]:
    match content_type:
        case "application/json" if answer.content.lstrip().startswith(b"{"):
            return SPIDER.read(answer, _Content).content
        case "application/json":
            return SPIDER.read(answer, _Pages).root
        case "application/jsonl":
            lines = [line for line in answer.content.splitlines() if line.strip()]
            return [SPIDER.read(httpx.Response(200, content=line), _Page).root for line in lines]
        case _:
            return [Page(content=answer.text, status=answer.status_code)]
