"""Algolia: a search in one index."""

import re
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel, Field, JsonValue

from toolbus.provider import READ, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key, Vendor

ALGOLIA: Final = Vendor("Algolia", told_at=(("message",),))
APPLICATION_ID: Final = re.compile(r"[A-Za-z0-9]+")  # becomes part of a host name


class Setup(Closed):
    """The application, and a key that may search; `base_url` is made of the application's id unless given."""

    algolia_application_id: str = Field(min_length=1)
    algolia_api_key: Key
    base_url: BaseUrl | None = None


provider = Provider(
    "algolia",
    info=Info(
        friendly_name="Algolia",
        url="https://www.algolia.com",
        docs="https://www.algolia.com/doc/rest-api/search/search-single-index",
    ),
    setup=Setup,
)


class Search(Closed):
    """`attributes_to_retrieve`: which attributes hits come with, all of them unless given; `["*"]` means all too."""

    index_name: str = Field(min_length=1, description="The index to search.")
    query: str = Field(description="What to look for; nothing finds everything.")
    attributes_to_retrieve: list[str] | None = Field(default=None, description="Attributes that hits come with.")
    hits_per_page: int = Field(default=10, ge=1, le=1000, description="How many hits at most.")


class Metadata(BaseModel):
    """What was asked, how many hits and pages of hits there are, and how long it took the vendor."""

    query: str
    nbHits: int  # noqa: N815 the vendor's names, as published
    page: int
    nbPages: int  # noqa: N815
    processingTimeMS: int  # noqa: N815


class Found(BaseModel):
    """The hits of the first page, best first."""

    hits: list[dict[str, JsonValue]]
    metadata: Metadata


class _Answer(Metadata):
    hits: list[dict[str, JsonValue]]


@provider.method(contract=READ, retry_on=(500, 502))
async def search(arguments: Search, setup: Setup, call: Call) -> Found:
    """Search an index of Algolia."""
    body: dict[str, JsonValue] = {"query": arguments.query, "hitsPerPage": arguments.hits_per_page}
    if arguments.attributes_to_retrieve is not None:
        body["attributesToRetrieve"] = list(arguments.attributes_to_retrieve)
    answer = await ALGOLIA.answer(
        call.post(
            f"{_base_url(setup)}/1/indexes/{quote(arguments.index_name, safe='')}/query",
            json=body,
            headers={
                "x-algolia-application-id": setup.algolia_application_id,
                "x-algolia-api-key": setup.algolia_api_key,
            },
        )
    )
    found = ALGOLIA.read(answer, _Answer)
    return Found(hits=found.hits, metadata=Metadata.model_validate(found.model_dump(exclude={"hits"})))


def _base_url(setup: Setup) -> str:
    if setup.base_url is not None:
        return setup.base_url
    if not APPLICATION_ID.fullmatch(setup.algolia_application_id):
        raise ToolFailed("algolia_application_id may only have letters and digits", code="setup_invalid")
    return f"https://{setup.algolia_application_id.lower()}-dsn.algolia.net"
