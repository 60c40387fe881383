"""Unstructured: the elements of a document (titles, paragraphs, tables…), found by their partition endpoint."""

import asyncio
import base64
import json
import re
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, JsonValue, RootModel, model_validator

from toolbus.provider import READ, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.vendor import Base64, Closed, Key, Vendor

UNSTRUCTURED: Final = Vendor("Unstructured", told_at=(("detail",), ("message",), ("error",)))
PARTITION_TIMEOUT_S: Final = 300.0
VARIABLE: Final = re.compile(r"\{([A-Za-z0-9_-]+)\}")
SERVERS: Final = {
    "saas-api": "https://api.unstructuredapp.io",
    "platform-api": "https://api.unstructuredapp.io",  # the platform has no partition endpoint of its own
}
STRATEGIES: Final = frozenset({"fast", "hi_res", "auto", "ocr_only", "od_only", "vlm"})


class Setup(Closed):
    """
    The key, and where to send documents: `server_url` with `url_params` for `{names}` in it, or a `server` by name.

    `timeout_ms` bounds one request. There are no retries here: those of the tool are written in its definition, and a
    `retry_config` is taken and not followed.
    """

    unstructured_api_key: Key
    server_url: Annotated[str, Field(pattern=r"^https?://[^\s?#@]+$")] | None = None
    server: Literal["saas-api", "platform-api"] | None = None
    url_params: dict[str, str] | None = Field(default=None, description="What stands in braces in server_url.")
    timeout_ms: int | None = Field(default=None, ge=1)
    retry_config: dict[str, JsonValue] | None = Field(default=None, deprecated="retries are set in the tool's policy")

    @model_validator(mode="after")
    def _fill_url(self) -> Self:
        names = set(VARIABLE.findall(self.server_url or ""))
        if names != (self.url_params or {}).keys():
            raise ValueError("url_params must name exactly what stands in braces in server_url")
        return self

    @property
    def base_url(self) -> str:
        """Where the endpoint is, without a slash at the end."""
        if self.server_url is None:
            return SERVERS[self.server or "saas-api"]
        values = self.url_params or {}
        return VARIABLE.sub(lambda found: values[found[1]], self.server_url).rstrip("/")


provider = Provider(
    "unstructured",
    info=Info(
        friendly_name="Unstructured",
        url="https://unstructured.io",
        docs="https://docs.unstructured.io/api-reference/legacy-api/partition/api-parameters",
    ),
    setup=Setup,
)


def _check_params(params: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """What is sent as it is; the strategy in the vendor's spelling."""
    if "files" in params:
        raise ValueError("the document is an argument of its own")
    if of_client := sorted(name for name in params if name.startswith("split_pdf")):
        raise ValueError(f"{', '.join(of_client)}: documents are sent whole; not offered")
    if (strategy := params.get("strategy")) is None:
        return params
    spelled = str(strategy).strip().lower().replace("-", "_").replace(" ", "_")
    if spelled not in STRATEGIES:
        raise ValueError(f"strategy is one of {', '.join(sorted(STRATEGIES))}")
    return {**params, "strategy": spelled}


class Document(Closed):
    """
    The document and how to take it apart.

    Without a `filename` the vendor tells by the content what it is.
    """

    file: Base64 = Field(description="The document, base64.")
    filename: str | None = Field(default=None, min_length=1, description="Its name; the ending tells what it is.")
    partition_params: Annotated[dict[str, JsonValue], AfterValidator(_check_params)] | None = Field(
        default=None, description="Parameters of the endpoint: strategy, chunking_strategy, languages, output_format…"
    )


class Parsed(BaseModel):
    """The elements as objects, or as CSV when `output_format` was `text/csv`."""

    content_type: str
    status_code: int
    csv_elements: str | None = None
    content: list[dict[str, JsonValue]] | None = None


class _Elements(RootModel[list[dict[str, JsonValue]]]):
    pass


@provider.method(contract=READ, timeout_s=PARTITION_TIMEOUT_S, retry_on=(500, 502))
async def parse(arguments: Document, setup: Setup, call: Call) -> Parsed:
    """Take a document apart into its elements."""
    try:
        async with asyncio.timeout(setup.timeout_ms / 1000 if setup.timeout_ms is not None else None):
            return await _parse(arguments, setup, call)
    except TimeoutError as error:
        message = f"Unstructured did not answer within timeout_ms ({setup.timeout_ms} ms)"
        raise ToolFailed(message, code="timeout", retryable=True) from error


async def _parse(arguments: Document, setup: Setup, call: Call) -> Parsed:
    params = arguments.partition_params or {}
    as_csv = params.get("output_format") == "text/csv"
    answer = await UNSTRUCTURED.answer(
        call.post(
            f"{setup.base_url}/general/v0/general",
            files={"files": (arguments.filename or "document", base64.b64decode(arguments.file))},
            data=_fields(params),
            headers={
                "accept": "text/csv" if as_csv else "application/json",
                "unstructured-api-key": setup.unstructured_api_key,
            },
        )
    )
    content_type = answer.headers.get("content-type", "").partition(";")[0]
    if content_type == "text/csv":
        return Parsed(content_type=content_type, status_code=answer.status_code, csv_elements=answer.text)
    content = UNSTRUCTURED.read(answer, _Elements).root
    return Parsed(content_type=content_type, status_code=answer.status_code, content=content)


def _fields(params: dict[str, JsonValue]) -> dict[str, str | list[str]]:
    """Fields of the form, lists under a name with brackets, as the vendor's own client sends them."""
    fields: dict[str, str | list[str]] = {}
    for name, value in params.items():
        if isinstance(value, list):
            fields[f"{name}[]"] = [_field(one) for one in value]
        elif value is not None:
            fields[name] = _field(value)
    return fields


def _field(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)
