"""
arXiv: preprints that answer a query, and on demand the papers themselves.

The feed is Atom, read with expat from the standard library: a document type ends the reading at once, so that there
are no entities to expand or to fetch; the size is bounded by the call's bound on answers, the depth by one of ours.
Source: https://info.arxiv.org/help/api/user-manual.html
"""

import base64
from dataclasses import dataclass, field
from typing import Final, Literal
from xml.parsers import expat

import httpx
from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from toolbus.provider import READ, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Vendor, one_line

ATOM: Final = "http://www.w3.org/2005/Atom "
EXTENSION: Final = "http://arxiv.org/schemas/atom "
ENTRY: Final = f"{ATOM}entry"
AUTHOR_NAME: Final = (f"{ATOM}author", f"{ATOM}name")
MAX_DEPTH: Final = 16
RATE_EXCEEDED: Final = b"Rate exceeded."  # comes as text, with whatever status
PAUSE_S: Final = 3.0  # between two requests: https://info.arxiv.org/help/api/tou.html


class _Arxiv(Vendor):
    """arXiv: its errors are feeds, with one entry that is called Error."""

    def words(self, answer: httpx.Response) -> str:
        try:
            entries = _entries(answer.content)
        except (expat.ExpatError, ValueError):
            return super().words(answer)
        return next((one_line(entry.summary) for entry in entries if entry.is_error), "") or super().words(answer)


ARXIV: Final = _Arxiv("arXiv", told_at=())


class Setup(Closed):
    """`base_url`: where the interface is."""

    base_url: BaseUrl = "https://export.arxiv.org"


provider = Provider(
    "arxiv",
    info=Info(friendly_name="arXiv", url="https://arxiv.org", docs="https://info.arxiv.org/help/api/user-manual.html"),
    setup=Setup,
)


class Search(Closed):
    """
    A query in arXiv's language, `id_list` to look only among these papers.

    At most 2,000 papers: as many as arXiv gives in one answer, and it asks for pauses between two.
    """

    query: str = Field(description="In arXiv's query language: ti:, au:, abs:, cat:, AND, OR, ANDNOT.")
    id_list: list[str] | None = Field(default=None, description="Look only among these papers: 2301.00001v2.")
    max_results: int = Field(default=5, ge=1, le=2000, description="How many papers at most.")
    download_pdf: bool = Field(default=False, description="Fetch each paper too; all of them must fit in one answer.")
    sort_by: Literal["relevance", "lastUpdatedDate", "submittedDate"] = "relevance"
    sort_order: Literal["descending", "ascending"] = "descending"


class Pdf(BaseModel):
    """A paper, base64."""

    base64: str
    mime_type: str
    title: str


class Paper(BaseModel):
    """What arXiv tells of a paper; `links` are urls."""

    entry_id: str
    title: str
    updated: AwareDatetime
    published: AwareDatetime
    authors: list[str]
    summary: str
    comment: str | None = None
    journal_ref: str | None = None
    doi: str | None = None
    primary_category: str
    categories: list[str]
    links: list[str]
    pdf_url: str | None = None
    pdf_downloaded: Pdf | None = None


class Found(BaseModel):
    """The papers in the order that was asked for."""

    result: list[Paper]


@dataclass
class _Entry:
    """An entry of the feed as it is read: texts and attributes by name, space around texts taken off."""

    texts: dict[str, str] = field(default_factory=dict)
    authors: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    primary_category: str = ""

    @property
    def summary(self) -> str:
        return self.texts.get(f"{ATOM}summary", "")

    @property
    def is_error(self) -> bool:
        return "/api/errors" in self.texts.get(f"{ATOM}id", "")


@provider.method(contract=READ, timeout_s=120.0, retry_on=(500, 502))
async def search(arguments: Search, setup: Setup, call: Call) -> Found:
    """Search arXiv; with `download_pdf` the papers come along."""
    params: dict[str, str | int] = {
        "search_query": arguments.query,
        "start": 0,
        "max_results": arguments.max_results,
        "sortBy": arguments.sort_by,
        "sortOrder": arguments.sort_order,
    }
    if arguments.id_list:
        params["id_list"] = ",".join(arguments.id_list)
    papers = _papers(await ARXIV.answer(call.get(f"{setup.base_url}/api/query", params=params)))
    return Found(result=await _with_pdfs(papers, call) if arguments.download_pdf else papers)


async def _with_pdfs(papers: list[Paper], call: Call) -> list[Paper]:
    """The papers with their PDFs, fetched one after the other, as arXiv asks for; only as many as one answer holds."""
    fetched, room = [], call.max_output_bytes
    for paper in papers:
        if paper.pdf_url is None:
            fetched.append(paper)
            continue
        answer = await ARXIV.answer(call.get(paper.pdf_url, follow_redirects=True))
        text = base64.b64encode(answer.content).decode()
        room -= len(text)
        if room < 0:
            message = f"the papers are larger than {call.max_output_bytes} bytes together: ask for fewer of them"
            raise ToolFailed(message, code="response_too_large")
        mime_type = answer.headers.get("content-type", "application/pdf").partition(";")[0]
        pdf = Pdf(base64=text, mime_type=mime_type, title=paper.title)
        fetched.append(paper.model_copy(update={"pdf_downloaded": pdf}))
    return fetched


def _papers(answer: httpx.Response) -> list[Paper]:
    """
    What is in the feed.

    Raises:
        ToolFailed: `response_invalid` for something else than a feed; an error that came with status 200, of which
            one, that too much was asked, passes.
    """
    try:
        entries = _entries(answer.content)
        if error := next((entry for entry in entries if entry.is_error), None):
            raise ToolFailed(f"arXiv: {one_line(error.summary)}", response=answer)
        return [_paper(entry) for entry in entries]
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        raise ARXIV.unreadable(answer, "/".join(map(str, first["loc"])), first["msg"]) from error
    except (expat.ExpatError, ValueError) as error:
        if answer.content.strip() == RATE_EXCEEDED:
            message = "arXiv: asked more often than every three seconds"
            raise ToolFailed(message, retryable=True, retry_after_s=PAUSE_S, response=answer) from error
        raise ARXIV.unreadable(answer, "feed", str(error)) from error


def _paper(entry: _Entry) -> Paper:
    pdfs = (link.get("href") for link in entry.links if link.get("title") == "pdf")
    return Paper.model_validate(
        {
            "entry_id": entry.texts.get(f"{ATOM}id"),
            "title": " ".join(entry.texts.get(f"{ATOM}title", "").split()),  # titles come with line breaks
            "updated": entry.texts.get(f"{ATOM}updated"),
            "published": entry.texts.get(f"{ATOM}published"),
            "authors": entry.authors,
            "summary": entry.summary,
            "comment": entry.texts.get(f"{EXTENSION}comment"),
            "journal_ref": entry.texts.get(f"{EXTENSION}journal_ref"),
            "doi": entry.texts.get(f"{EXTENSION}doi"),
            "primary_category": entry.primary_category,
            "categories": entry.categories,
            "links": [link["href"] for link in entry.links if "href" in link],
            "pdf_url": next(pdfs, None),
        }
    )


def _entries(content: bytes) -> list[_Entry]:
    """
    The entries of an Atom feed.

    Raises:
        expat.ExpatError: not XML.
        ValueError: with a document type, nested too deeply, or not a feed.
    """
    reading = _Reading()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reading.refuse_doctype
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.data
    parser.Parse(content, True)
    return reading.entries


class _Reading:
    """What expat tells, put together: `path` is where we are, by names with their namespaces before them."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self.path: list[str] = []
        self.text: list[str] = []

    def refuse_doctype(self, *_: object) -> None:
        raise ValueError("a document type is not part of a feed")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.path and name != f"{ATOM}feed":
            raise ValueError("not an Atom feed")
        if len(self.path) >= MAX_DEPTH:
            raise ValueError("nested too deeply")
        self.path.append(name)
        self.text.clear()
        match self.path:
            case [_, within] if within == ENTRY:
                self.entries.append(_Entry())
            case [_, within, _] if within == ENTRY:
                self._note(self.entries[-1], name, attributes)

    def _note(self, entry: _Entry, name: str, attributes: dict[str, str]) -> None:
        if name == f"{ATOM}link":
            entry.links.append(attributes)
        elif name == f"{ATOM}category":
            entry.categories.append(attributes.get("term", ""))
        elif name == f"{EXTENSION}primary_category":
            entry.primary_category = attributes.get("term", "")

    def end(self, name: str) -> None:
        text = "".join(self.text).strip()
        match self.path:
            case [_, within, of, _] if text and within == ENTRY and (of, name) == AUTHOR_NAME:
                self.entries[-1].authors.append(text)
            case [_, within, _] if text and within == ENTRY:
                self.entries[-1].texts[name] = text
        self.path.pop()
        self.text.clear()

    def data(self, text: str) -> None:
        self.text.append(text)
