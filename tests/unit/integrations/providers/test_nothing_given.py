"""What published tools leave open with `null` is as if it were left out."""

from typing import Any

import pytest
from pydantic import BaseModel

from toolbus_integrations.providers import browserbase, cloudinary, llama_parse, remote_browser, spider, unstructured

KEY = "key-4711"
ACCOUNT = {"cloudinary_api_key": KEY, "cloudinary_api_secret": KEY, "cloudinary_cloud_name": "demo"}


@pytest.mark.parametrize(
    ("model", "given", "nothing"),
    [
        (browserbase.Setup, {"api_key": KEY, "project_id": "p"}, {"api_url", "connect_url"}),
        (browserbase.Wanted, {}, {"projectId", "extensionId"}),
        (cloudinary.Setup, ACCOUNT, {"params"}),
        (cloudinary.Upload, {"file": "https://example.com/a.png"}, {"public_id", "upload_params"}),
        (llama_parse.Setup, {"llamaparse_api_key": KEY}, {"params"}),
        (llama_parse.Documents, {"file": "https://example.com/a.pdf"}, {"filename", "params"}),
        (remote_browser.Setup, {}, {"connect_url", "width", "height"}),
        (spider.Target, {"url": "https://example.com"}, {"params"}),
        (spider.Query, {"query": "cats"}, {"params", "url"}),
        (unstructured.Document, {"file": "eA=="}, {"filename", "partition_params"}),
        (
            unstructured.Setup,
            {"unstructured_api_key": KEY},
            {"server_url", "server", "url_params", "retry_config", "timeout_ms"},
        ),
    ],
)
def test_null_is_as_good_as_nothing(model: type[BaseModel], given: dict[str, Any], nothing: set[str]) -> None:
    """For every field that the published providers mark as optional; the schema says so too."""
    told = model.model_validate({**given, **dict.fromkeys(nothing)})
    assert told == model.model_validate(given)
    shapes = model.model_json_schema()["properties"]
    assert all({"type": "null"} in shapes[name]["anyOf"] for name in nothing)


def test_where_nothing_was_given_the_usual_holds() -> None:
    """The vendor's own addresses."""
    assert browserbase.Setup(api_key=KEY, project_id="p").base_url == "https://api.browserbase.com"
    assert unstructured.Setup(unstructured_api_key=KEY).base_url == "https://api.unstructuredapp.io"
    unstructured.Setup(unstructured_api_key=KEY, retry_config={"strategy": "backoff"})  # taken, and not followed
