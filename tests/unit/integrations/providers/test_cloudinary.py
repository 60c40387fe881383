"""Pictures: uploaded from a url, and delivered in another form."""

import base64
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pytest_httpserver import HTTPServer

from tests.fakes.cloudinary import CLOUD, PICTURE, SECRET, Cloudinary
from tests.fakes.vendor import KEY
from tests.unit.integrations.providers.calling import DENIED, OwnCall, perform
from toolbus.provider import ToolFailed
from toolbus_integrations.providers import cloudinary

CAT = "https://example.com/cat.jpg"


@pytest.fixture
def call(tmp_path: Path) -> OwnCall:
    """A call with a folder of its own."""
    return OwnCall(tmp_path)


async def test_a_picture_is_uploaded_from_a_url(httpserver: HTTPServer, call: OwnCall) -> None:
    """Signed, under the id of the call unless told: an attempt that is repeated makes no second picture."""
    fake = Cloudinary(httpserver)
    uploaded = await perform(cloudinary.provider, "media_upload", {"file": CAT}, call, setup=fake.setup)
    assert uploaded["public_id"] == call.call_id
    assert uploaded["url"] == f"{fake.url}/{CLOUD}/image/upload/v1719307544/{call.call_id}.jpg"
    assert (uploaded["meta_data"]["width"], uploaded["base64"]) == (864, None)
    form = fake.requests[-1].form
    assert form["timestamp"] == str(int(call.now.timestamp()))
    assert SECRET not in str(dict(form))
    assert CAT in call.examined


async def test_parameters_of_an_upload_are_written_as_the_vendor_reads_them(
    httpserver: HTTPServer, call: OwnCall
) -> None:
    """Lists, keys and values, steps, flags; those of the setup below those of the call."""
    fake = Cloudinary(httpserver)
    arguments = {
        "file": CAT,
        "public_id": "cats/tom & jerry",
        "upload_params": {
            "resource_type": "auto",
            "tags": ["a", "b"],
            "context": {"alt": "a=b|c"},
            "transformation": [{"width": 100, "crop": "fill"}, {"effect": ["sepia", 50]}],
            "eager": [{"width": 50}, {"height": 60}],
            "overwrite": False,
            "folder": "",
            "format": None,
        },
    }
    setup = {**fake.setup, "params": {"invalidate": True, "tags": "c"}}
    uploaded = await perform(cloudinary.provider, "media_upload", arguments, call, setup=setup)
    assert (uploaded["public_id"], uploaded["meta_data"]["resource_type"]) == ("cats/tom & jerry", "auto")
    form = dict(fake.requests[-1].form)
    assert (form["tags"], form["context"]) == ("a,b", r"alt=a\=b\|c")
    assert (form["transformation"], form["eager"]) == ("c_fill,w_100/e_sepia:50", "w_50|h_60")
    assert (form["overwrite"], form["invalidate"]) == ("0", "1")
    assert not {"folder", "format"} & form.keys()


async def test_the_file_comes_along_or_is_said_not_to(httpserver: HTTPServer, tmp_path: Path) -> None:
    """What was uploaded is uploaded, whether or not it can be fetched again."""
    fake = Cloudinary(httpserver)
    arguments = {"file": CAT, "return_base64": True}
    uploaded = await perform(cloudinary.provider, "media_upload", arguments, OwnCall(tmp_path), setup=fake.setup)
    assert base64.b64decode(uploaded["base64"]) == PICTURE
    fake.is_gone = True
    uploaded = await perform(cloudinary.provider, "media_upload", arguments, OwnCall(tmp_path), setup=fake.setup)
    assert (uploaded["base64"], uploaded["base64_error"]) == (None, "Cloudinary: Resource not found (HTTP 404)")
    fake.is_gone, fake.is_cut = False, True
    call = OwnCall(tmp_path)
    uploaded = await perform(cloudinary.provider, "media_upload", arguments, call, setup=fake.setup)
    assert uploaded["base64_error"] == "no whole answer of Cloudinary: RemoteProtocolError"
    assert uploaded["public_id"] == call.call_id


async def test_a_picture_is_delivered_in_another_form(httpserver: HTTPServer, call: OwnCall) -> None:
    """A url without any request, or the picture with it."""
    fake = Cloudinary(httpserver)
    arguments: dict[str, Any] = {
        "public_id": "cats/tom",
        "transformation": [{"width": 100, "crop": "fill", "background": "#ff0000"}, {"raw_transformation": "e_sepia"}],
    }
    edited = await perform(cloudinary.provider, "media_edit", arguments, call, setup=fake.setup)
    path = "image/upload/b_rgb:ff0000,c_fill,w_100/e_sepia/v1/cats/tom"
    assert edited == {"transformed_url": f"{fake.url}/{CLOUD}/{path}", "base64": None}
    assert fake.requests == []
    arguments["return_base64"] = True
    edited = await perform(cloudinary.provider, "media_edit", arguments, call, setup=fake.setup)
    assert base64.b64decode(edited["base64"]) == PICTURE
    assert fake.requests[-1].path == f"/{CLOUD}/{path}"


async def test_a_picture_that_is_too_large_in_base64_fails(httpserver: HTTPServer, tmp_path: Path) -> None:
    """Base64 takes a third more than the bytes."""
    fake = Cloudinary(httpserver)
    arguments = {"public_id": "cat", "transformation": [{"width": 100}], "return_base64": True}
    small = OwnCall(tmp_path, max_output_bytes=len(PICTURE) + 1)
    with pytest.raises(ToolFailed, match="in base64 the file is larger") as raised:
        await perform(cloudinary.provider, "media_edit", arguments, small, setup=fake.setup)
    assert raised.value.code == "response_too_large"


async def test_times_of_a_video_are_shares_of_it(httpserver: HTTPServer, call: OwnCall) -> None:
    """A percent sign would be something else in a url; one step need not be in a list."""
    fake = Cloudinary(httpserver)
    arguments = {"file": CAT, "upload_params": {"transformation": {"start_offset": "10%", "end_offset": "50%"}}}
    await perform(cloudinary.provider, "media_upload", arguments, call, setup=fake.setup)
    assert fake.requests[-1].form["transformation"] == "eo_50p,so_10p"


LOGO = "https://example.com/logo.png"


@pytest.mark.parametrize(
    ("layer", "written"),
    [
        ({"url": LOGO}, "fetch:aHR0cHM6Ly9leGFtcGxlLmNvbS9sb2dvLnBuZw=="),
        ({"text": "Ann, you/me: 50%"}, "text:Ann%252C%20you%252Fme:%2050%25"),
        ({"text": "Hi", "font_family": "Arial", "font_size": 32}, "text:Arial_32:Hi"),
        (
            {
                "text": "Hi",
                "font_size": 9,
                "font_family": "Open Sans",
                "font_weight": "bold",
                "font_style": "normal",
                "stroke": "stroke",
                "letter_spacing": 4,
            },
            "text:Open Sans_9_bold_stroke_letter_spacing_4:Hi",
        ),
        ({"public_id": "logos/one"}, "logos:one"),
        ({"public_id": "logos/one", "resource_type": "video"}, "video:logos:one"),
    ],
)
async def test_layers_are_told_by_their_parts(
    httpserver: HTTPServer, call: OwnCall, layer: dict[str, Any], written: str
) -> None:
    """Pictures at a url, letters, what was uploaded before; what Cloudinary would fetch is seen by the guard first."""
    fake = Cloudinary(httpserver)
    steps = [{"overlay": layer, "color": "white"}, {"flags": "layer_apply", "x": 80}]
    arguments = {"file": CAT, "upload_params": {"transformation": steps, "eager": [{"underlay": layer}]}}
    await perform(cloudinary.provider, "media_upload", arguments, call, setup=fake.setup)
    form = fake.requests[-1].form
    assert (form["transformation"], form["eager"]) == (f"co_white,l_{written}/fl_layer_apply,x_80", f"u_{written}")
    assert call.examined.count(LOGO) == (2 if "url" in layer else 0)


async def test_a_layer_from_where_nobody_may_go_is_refused(call: OwnCall) -> None:
    """Before anything is sent, also where only an address is made."""
    setup = {"cloudinary_api_key": KEY, "cloudinary_api_secret": SECRET, "cloudinary_cloud_name": CLOUD}
    steps = [{"underlay": {"url": f"https://{DENIED}/x.png"}}]
    edit = {"public_id": "cat", "transformation": steps}
    upload = {"file": CAT, "upload_params": {"transformation": steps}}
    for method, arguments in (("media_edit", edit), ("media_upload", upload)):
        with pytest.raises(ToolFailed, match="may not be reached"):
            await perform(cloudinary.provider, method, arguments, call, setup=setup)
    assert not call.is_sent


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"colour": "red"}, "colour is not offered"),
        ({"width": True}, "width must be text or a number"),
        ({"overlay": ["a"]}, "overlay must be text or a number"),
        ({"overlay": {"text": "hello", "font_size": 3}}, "overlay has letters without font_family and font_size"),
        ({"overlay": {"text": "a", "font_family": "A/b", "font_size": 3}}, "overlay describes letters with what"),
        ({"overlay": {"text": "hello", "size": 3}}, "overlay is a url, a text with a font, or a public_id"),
        ({"overlay": {"url": "https://example.com", "text": "a"}}, "overlay is a url, a text"),
        ({"underlay": {"public_id": "a,w_10"}}, "underlay names what a url cannot hold"),
        ({"underlay": {"public_id": "a", "resource_type": "../raw"}}, "underlay names what a url cannot hold"),
        ({"width": {"text": "a"}}, "width must be text or a number"),
        ({"effect": "sepia,w_10"}, "effect holds what a url cannot"),
        ({"effect": "../../raw"}, "effect holds what a url cannot"),
        ({"raw_transformation": "w_10?x=1"}, "raw_transformation is text"),
        ({"raw_transformation": 7}, "raw_transformation is text"),
    ],
)
async def test_steps_that_a_url_cannot_hold_are_refused(call: OwnCall, step: dict[str, Any], reason: str) -> None:
    """A value makes no second parameter, no second step and no other url."""
    arguments = {"public_id": "cat", "transformation": [step]}
    setup = {"cloudinary_api_key": KEY, "cloudinary_api_secret": SECRET, "cloudinary_cloud_name": CLOUD}
    with pytest.raises(ValidationError, match=reason):
        await perform(cloudinary.provider, "media_edit", arguments, call, setup=setup)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"signature": "x"}, "cannot be a parameter"),
        ({"resource_type": "../x"}, "resource_type is one of"),
        ({"regions": {"a": [1]}}, "regions must be text, a number or a flag"),
    ],
)
async def test_uploads_take_no_parameter_that_would_say_something_else(
    call: OwnCall, params: dict[str, Any], reason: str
) -> None:
    """Nothing is sent."""
    setup = {"cloudinary_api_key": KEY, "cloudinary_api_secret": SECRET, "cloudinary_cloud_name": CLOUD}
    with pytest.raises(ValidationError, match=reason):
        await perform(cloudinary.provider, "media_upload", {"file": CAT, "upload_params": params}, call, setup=setup)
    assert not call.is_sent


@pytest.mark.parametrize(
    "arguments",
    [
        {"file": f"http://{DENIED}/cat.jpg"},
        {"file": CAT, "upload_params": {"notification_url": f"http://{DENIED}/"}},
        {"file": CAT, "upload_params": {"eager_notification_url": f"http://{DENIED}/"}},
    ],
)
async def test_the_vendor_is_not_sent_where_we_may_not_go(
    httpserver: HTTPServer, call: OwnCall, arguments: dict[str, Any]
) -> None:
    """Neither for the file nor to tell somebody of it."""
    fake = Cloudinary(httpserver)
    with pytest.raises(ToolFailed, match="may not be reached"):
        await perform(cloudinary.provider, "media_upload", arguments, call, setup=fake.setup)
    assert fake.requests == []
