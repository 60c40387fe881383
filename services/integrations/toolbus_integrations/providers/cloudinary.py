"""
Cloudinary: pictures and videos, uploaded from a url, and delivered in another form.

Cloudinary fetches what is uploaded, not we: the egress guard sees the url first. Uploads are signed with the secret,
which is never sent. Source: https://cloudinary.com/documentation/authentication_signatures
"""

import base64
import re
from typing import Annotated, Final
from urllib.parse import quote

import httpx
from pydantic import AfterValidator, BaseModel, Field, HttpUrl, JsonValue

from toolbus.provider import READ, WRITE, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.cloudinary_parameters import layer_urls, parameter, path_of, signature
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key, Vendor, one_line

OF_OURS: Final = frozenset({"file", "public_id", "timestamp", "signature", "api_key", "cloud_name"})
CALLED_BY_VENDOR: Final = ("notification_url", "eager_notification_url")
KINDS: Final = frozenset({"image", "video", "raw", "auto"})
UPLOAD_TIMEOUT_S: Final = 120.0


class _Cloudinary(Vendor):
    """Cloudinary: what cannot be delivered says why in a header."""

    def words(self, answer: httpx.Response) -> str:
        return one_line(answer.headers.get("x-cld-error", "")) or super().words(answer)


CLOUDINARY: Final = _Cloudinary("Cloudinary", told_at=(("error", "message"),))


def _check_params(params: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if doubled := OF_OURS & params.keys():
        raise ValueError(f"{', '.join(sorted(doubled))} cannot be a parameter of the upload")
    if params.get("resource_type", "image") not in KINDS:
        raise ValueError(f"resource_type is one of {', '.join(sorted(KINDS))}")
    for name, value in params.items():
        parameter(name, value)
    return params


Params = Annotated[dict[str, JsonValue], AfterValidator(_check_params)]


class Setup(Closed):
    """
    The account; `params` are parameters of every upload, under those of the upload itself.

    `base_url` is where uploads go, `delivery_url` where pictures come from.
    """

    cloudinary_api_key: Key
    cloudinary_api_secret: Key
    cloudinary_cloud_name: str = Field(min_length=1)
    params: Params | None = Field(default=None, description="Parameters of every upload.")
    base_url: BaseUrl = "https://api.cloudinary.com"
    delivery_url: BaseUrl = "https://res.cloudinary.com"


provider = Provider(
    "cloudinary",
    info=Info(
        friendly_name="Cloudinary",
        url="https://cloudinary.com",
        docs="https://cloudinary.com/documentation/image_upload_api_reference",
    ),
    setup=Setup,
)


def _check_steps(steps: list[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    path_of(steps)
    return steps


class Upload(Closed):
    """What to upload, and under which id; without one it is the id of the call, the same on every attempt."""

    file: HttpUrl = Field(description="Where Cloudinary fetches it from.")
    public_id: str | None = Field(default=None, min_length=1, description="The id it gets.")
    upload_params: Params | None = Field(
        default=None, description="Parameters of the upload: folder, tags, resource_type…"
    )
    return_base64: bool = Field(default=False, description="Whether the stored file comes along, base64.")


class Uploaded(BaseModel):
    """Where it is now. `meta_data` is what else Cloudinary tells; `base64_error` is why the file did not come along."""

    url: str
    public_id: str
    base64: str | None = None
    base64_error: str | None = None
    meta_data: dict[str, JsonValue]


class Edit(Closed):
    """The picture, and the steps that lead to the one that is wanted."""

    public_id: str = Field(min_length=1, description="The id of the picture.")
    transformation: Annotated[list[dict[str, JsonValue]], AfterValidator(_check_steps)] = Field(
        min_length=1, description='Steps, one after the other: {"width": 100, "crop": "fill"}, {"effect": "sepia"}.'
    )
    return_base64: bool = Field(default=False, description="Whether the picture comes along, base64.")


class Edited(BaseModel):
    """Where the picture is delivered from, and the picture if it was asked for."""

    transformed_url: str
    base64: str | None = None


class _Answer(BaseModel, extra="allow"):
    public_id: str
    secure_url: str


@provider.method(contract=WRITE, timeout_s=UPLOAD_TIMEOUT_S)
async def media_upload(arguments: Upload, setup: Setup, call: Call) -> Uploaded:
    """Upload a picture, a video or another file from a url."""
    params = {**(setup.params or {}), **(arguments.upload_params or {})}
    kind = params.pop("resource_type", "image")
    called = (str(params[name]) for name in CALLED_BY_VENDOR if params.get(name))
    layers = (url for name in ("transformation", "eager") for url in layer_urls(params.get(name)))
    for url in (str(arguments.file), *called, *layers):
        await call.examine(url)
    fields = {name: parameter(name, value) for name, value in params.items()}
    fields["public_id"] = arguments.public_id or call.call_id
    fields["timestamp"] = str(int(call.now.timestamp()))
    fields = {name: text for name, text in fields.items() if text}
    answer = await CLOUDINARY.answer(
        call.post(
            f"{setup.base_url}/v1_1/{quote(setup.cloudinary_cloud_name, safe='')}/{kind}/upload",
            data={
                **fields,
                "file": str(arguments.file),
                "api_key": setup.cloudinary_api_key,
                "signature": signature(fields, setup.cloudinary_api_secret),
            },
        )
    )
    stored = CLOUDINARY.read(answer, _Answer)
    uploaded = Uploaded(url=stored.secure_url, public_id=stored.public_id, meta_data=stored.model_extra or {})
    return await _with_file(uploaded, call) if arguments.return_base64 else uploaded


@provider.method(contract=READ, timeout_s=UPLOAD_TIMEOUT_S, retry_on=(500, 502))
async def media_edit(arguments: Edit, setup: Setup, call: Call) -> Edited:
    """Give the url under which a picture is delivered in another form; it is made when somebody first asks for it."""
    for url in layer_urls(list(arguments.transformation)):
        await call.examine(url)
    # A version is part of the url of what is in a folder, as the vendor's own client writes it.
    in_folder = "/" in arguments.public_id and not re.match(r"v\d", arguments.public_id)
    parts = (
        setup.delivery_url,
        quote(setup.cloudinary_cloud_name, safe=""),
        "image/upload",
        quote(path_of(arguments.transformation), safe=":,/$!_.+-*^()=|~@;&'%"),
        *(("v1",) if in_folder else ()),
        quote(arguments.public_id, safe="/:"),
    )
    url = "/".join(parts)
    return Edited(transformed_url=url, base64=await _base64(url, call) if arguments.return_base64 else None)


async def _with_file(uploaded: Uploaded, call: Call) -> Uploaded:
    """What was uploaded with the file; that it was uploaded stays true when the file cannot be had."""
    try:
        return uploaded.model_copy(update={"base64": await _base64(uploaded.url, call)})
    except ToolFailed as failure:
        return uploaded.model_copy(update={"base64_error": failure.message})
    except httpx.TransportError as error:
        told = f"no whole answer of {CLOUDINARY.name}: {type(error).__name__}"
        return uploaded.model_copy(update={"base64_error": told})


async def _base64(url: str, call: Call) -> str:
    answer = await CLOUDINARY.answer(call.get(url))
    text = base64.b64encode(answer.content).decode()
    if len(text) > call.max_output_bytes:
        raise ToolFailed(f"in base64 the file is larger than {call.max_output_bytes} bytes", code="response_too_large")
    return text
