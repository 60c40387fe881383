"""A library that can be searched, and lends its books: a provider of ready tools, as anybody may write one."""

from pydantic import BaseModel, Field

from toolbus import READ, WRITE, Call, Info, Provider, ToolFailed


class Setup(BaseModel):
    """Where the library is, and the card that it gave out."""

    card: str
    base_url: str = "https://library.example"


class Search(BaseModel):
    """What to look for."""

    query: str = Field(min_length=1, description="Words of the title.")


class Found(BaseModel):
    """Titles, best first."""

    titles: list[str]


class Loan(BaseModel):
    """Which book."""

    title: str


class Lent(BaseModel):
    """Until when it is lent."""

    due: str


provider = Provider("library", info=Info(friendly_name="The library", url="https://library.example"), setup=Setup)


@provider.method(contract=READ, timeout_s=10, retry_on=(500, 502))
async def search(arguments: Search, setup: Setup, call: Call) -> Found:
    """Search the catalogue of the library."""
    answer = await call.get(f"{setup.base_url}/search", params={"q": arguments.query}, headers={"x-card": setup.card})
    return Found.model_validate_json(answer.content)


@provider.method(contract=WRITE, timeout_s=10)
async def lend(arguments: Loan, setup: Setup, call: Call) -> Lent:
    """Lend a book. It is never tried again blindly: the library has to be asked first whether it is lent already."""
    body = {"title": arguments.title, "reference": call.call_id}
    answer = await call.post(f"{setup.base_url}/loans", json=body, headers={"x-card": setup.card}, raises=False)
    if answer.status_code == 409:  # noqa: PLR2004 - what the library answers when somebody has it
        raise ToolFailed(f"{arguments.title} is lent to somebody else", response=answer)
    if answer.is_error:
        raise ToolFailed(f"the library answered {answer.status_code}", code="http_status", response=answer)
    return Lent.model_validate_json(answer.content)
