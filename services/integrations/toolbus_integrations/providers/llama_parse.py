"""
LlamaParse: documents as text or Markdown, a page each.

A file is uploaded, or its url named, and the vendor's job is asked after until it is done. The second version of their
interface is used, whose options (`tier`, `agentic_options`, `page_ranges`…) are what `params` holds.

Each job may be billed, so no document is handed in twice: trouble while a job is asked after is waited out, or else
ends the call for good, and another attempt at a call (after its time was up, or when a further document was not taken)
asks after the jobs of the attempt before it, as long as this process lives.
Source: https://developers.llamaindex.ai/llamaparse/parse/guides/api-reference/
"""

import asyncio
import base64
import binascii
import json
from collections import OrderedDict
from typing import Annotated, Final, Literal, Self
from urllib.parse import quote

import httpx
from pydantic import AfterValidator, BaseModel, Field, HttpUrl, JsonValue, TypeAdapter, ValidationError, model_validator

from toolbus.provider import READ, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key, Vendor, one_line

LLAMAPARSE: Final = Vendor("LlamaParse", told_at=(("detail",), ("message",), ("error",)))
PARSE_TIMEOUT_S: Final = 600.0
FIRST_PAUSE_S: Final = 0.5  # between two questions after a job; doubled each time
LONGEST_PAUSE_S: Final = 5.0
MAX_ASKED: Final = 10  # times in a row, for one answer
ANSWER_TIMEOUT_S: Final = 30.0
LONGEST_WAIT_S: Final = 60.0  # the most that a vendor who wants to be left alone is waited for
BROKEN: Final = (500, 502)
MAX_BEGUN: Final = 1000
DEFAULTS: Final[dict[str, JsonValue]] = {"tier": "cost_effective", "version": "latest"}
OF_OURS: Final = frozenset({"file_id", "source_url", "configuration_id"})
CALLING: Final = frozenset({"webhook_configurations", "webhook_configuration_ids", "http_proxy"})
URL: Final = TypeAdapter(HttpUrl)


def _check_params(params: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if doubled := OF_OURS & params.keys():
        raise ValueError(f"{', '.join(sorted(doubled))}: the document is an argument of its own")
    if refused := CALLING & params.keys():
        raise ValueError(f"{', '.join(sorted(refused))} would make LlamaParse call somewhere: not offered")
    return params


Params = Annotated[dict[str, JsonValue], AfterValidator(_check_params)]


class Setup(Closed):
    """
    The key, and options for every document.

    Unless `params` say otherwise, `tier` is `cost_effective` and `version` `latest`. Accounts in Europe have a
    `base_url` of their own: `https://api.cloud.eu.llamaindex.ai`.
    """

    llamaparse_api_key: Key
    params: Params | None = Field(default=None, description="Options for every document.")
    base_url: BaseUrl = "https://api.cloud.llamaindex.ai"


provider = Provider(
    "llama_parse",
    info=Info(
        friendly_name="LlamaParse",
        url="https://cloud.llamaindex.ai",
        docs="https://developers.llamaindex.ai/llamaparse/parse/guides/configuring-parse/",
    ),
    setup=Setup,
)


class Documents(Closed):
    """
    What to parse: urls that the vendor fetches, or with `base64` the documents themselves.

    `filename` belongs to a single document: its ending tells what one in base64 is, and a url keeps its own, so that
    there it only names the pages. `params` go over those of the setup.
    """

    file: str | list[str] = Field(description="A url, or several; with base64: a document, or several.")
    filename: str | None = Field(default=None, min_length=1, description="The name of a single document.")
    params: Params | None = Field(default=None, description="Options of LlamaParse: tier, page_ranges, output_options…")
    base64: bool = Field(default=False, description="Whether file holds documents in base64, and not urls.")

    @property
    def files(self) -> list[str]:
        """The documents or urls, also when there is one."""
        return [self.file] if isinstance(self.file, str) else self.file

    @model_validator(mode="after")
    def _check_files(self) -> Self:
        if not self.files:
            raise ValueError("file names no document")
        if self.filename is not None and len(self.files) > 1:
            raise ValueError("filename is for a single document")
        for one in self.files:
            try:
                base64.b64decode(one, validate=True) if self.base64 else URL.validate_python(one)
            except (binascii.Error, ValidationError) as error:
                raise ValueError("file must be base64" if self.base64 else "file must be a url") from error
        return self


class Document(BaseModel):
    """A page: its text, and in `metadata` the job, the number of the page (from 1), and whatever failed about it."""

    text: str
    metadata: dict[str, JsonValue]


class Parsed(BaseModel):
    """The pages of all documents, in order."""

    documents: list[Document]


class _Job(BaseModel):
    id: str
    status: Literal["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]
    error_message: str | None = None


class _Page(BaseModel):
    page_number: int
    text: str = ""
    markdown: str = ""
    error: str | None = None


class _Pages(BaseModel):
    pages: list[_Page]


class _Answer(BaseModel):
    job: _Job
    text: _Pages | None = None
    markdown: _Pages | None = None


_begun: OrderedDict[tuple[str, str], list[str]] = OrderedDict()  # tenant and call → its jobs, in order


@provider.method(contract=READ, timeout_s=PARSE_TIMEOUT_S, retry_on=BROKEN)
async def parse(arguments: Documents, setup: Setup, call: Call) -> Parsed:
    """Parse documents: Markdown of each page, or its plain text in the tier `fast`."""
    options = {**DEFAULTS, **(setup.params or {}), **(arguments.params or {})}
    wanted: Literal["text", "markdown"] = "text" if options["tier"] == "fast" else "markdown"
    documents: list[Document] = []
    jobs = _jobs_of(call)
    for number, file in enumerate(arguments.files):
        if number == len(jobs):
            jobs.append((await _begin(file, arguments, setup, call, options=options)).id)
        pages = await _result(jobs[number], wanted, setup, call)
        documents.extend(_document(page, jobs[number], arguments.filename) for page in pages)
    _begun.pop((call.tenant, call.call_id), None)
    return Parsed(documents=documents)


def _jobs_of(call: Call) -> list[str]:
    """The jobs that were begun for a call, to which others are added."""
    name = (call.tenant, call.call_id)
    jobs = _begun.setdefault(name, [])
    _begun.move_to_end(name)
    while len(_begun) > MAX_BEGUN:
        _begun.popitem(last=False)
    return jobs


def _document(page: _Page, job: str, filename: str | None) -> Document:
    metadata: dict[str, JsonValue] = {"page_number": page.page_number, "job_id": job}
    if filename is not None:
        metadata["file_name"] = filename
    if page.error is not None:
        metadata["error"] = page.error
    return Document(text=page.markdown or page.text, metadata=metadata)


async def _begin(file: str, arguments: Documents, setup: Setup, call: Call, *, options: dict[str, JsonValue]) -> _Job:
    headers = {"authorization": f"Bearer {setup.llamaparse_api_key}"}
    if arguments.base64:
        asking = call.post(
            f"{setup.base_url}/api/v2/parse/upload",
            files={"file": (arguments.filename or "document", base64.b64decode(file))},
            data={"configuration": json.dumps(options)},
            headers=headers,
        )
    else:
        await call.examine(file)
        body = {**options, "source_url": file}
        asking = call.post(f"{setup.base_url}/api/v2/parse", json=body, headers=headers)
    return LLAMAPARSE.read(await LLAMAPARSE.answer(asking), _Job)


async def _result(job: str, wanted: Literal["text", "markdown"], setup: Setup, call: Call) -> list[_Page]:
    """The pages of a job, once it is done; the deadline of the call bounds the waiting."""
    pause_s = FIRST_PAUSE_S
    while True:
        answer = await _told(job, wanted, setup, call)
        found = LLAMAPARSE.read(answer, _Answer)
        if found.job.status == "COMPLETED":
            pages = found.text if wanted == "text" else found.markdown
            if pages is None:
                raise LLAMAPARSE.unreadable(answer, wanted, "missing")
            return pages.pages
        if found.job.status in {"FAILED", "CANCELLED"}:
            words = one_line(found.job.error_message or "") or found.job.status.lower()
            raise ToolFailed(f"LlamaParse: {words}", response=answer)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def _told(job: str, wanted: Literal["text", "markdown"], setup: Setup, call: Call) -> httpx.Response:
    """
    What LlamaParse says of a job; asked again, up to `MAX_ASKED` times, while it says nothing for reasons that pass.

    Raises:
        ToolFailed: it does not say, which is no reason to hand the document in again.
    """
    url = f"{setup.base_url}/api/v2/parse/{quote(job, safe='')}"
    headers = {"authorization": f"Bearer {setup.llamaparse_api_key}"}
    pause_s = FIRST_PAUSE_S
    for left in reversed(range(MAX_ASKED)):
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await LLAMAPARSE.answer(call.get(url, params={"expand": wanted}, headers=headers))
        except ToolFailed as failure:
            wait_s = failure.retry_after_s or 0.0
            if not _passes(failure):
                raise
            if not left or wait_s > LONGEST_WAIT_S:
                raise _given_up(job, failure.message, failure.code) from failure
        except (httpx.TransportError, TimeoutError) as error:
            wait_s = 0.0
            if not left:
                raise _given_up(job, str(error) or "no answer in time", "connection_lost") from error
        await asyncio.sleep(max(pause_s, wait_s))
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    raise AssertionError("the last time, somebody was told")


def _passes(failure: ToolFailed) -> bool:
    status = None if failure.response is None else failure.response.status_code
    return failure.retryable or status in BROKEN


def _given_up(job: str, reason: str, code: str) -> ToolFailed:
    """
    The failure of a call whose job is there, and not told of.

    It bears no response, whose status may be among those after which the whole call is wanted again.
    """
    return ToolFailed(one_line(f"LlamaParse does not say what became of the job {job}: {reason}"), code=code)
