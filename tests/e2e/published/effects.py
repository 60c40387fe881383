"""What a call of a published example has to have come to: at the vendor, and in its output."""

import base64
import io
import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email import message_from_bytes, policy
from typing import Any

from imageio_ffmpeg import get_ffmpeg_exe

from tests.e2e.published.outside import Outside
from tests.fakes.algolia import APPLICATION
from tests.fakes.brave import PAGES
from tests.fakes.browserbase import Browserbase
from tests.fakes.cloudinary import CLOUD, SECRET
from tests.fakes.google_sheets import Sheets
from tests.fakes.llama_parse import LlamaParse
from tests.fakes.vendor import KEY
from tests.unit.integrations.providers.mail_server import PASSWORD, USER

TOKEN = "ghp-a-token-of-the-test"


@dataclass(frozen=True)
class Made:
    """A call that succeeded: the section of its tool, what it was given, and what it gave."""

    section: Mapping[str, Any]
    arguments: Any
    output: Any
    outside: Outside

    @property
    def request(self) -> Any:
        """The last request that the vendor got."""
        return self.outside.vendors[self.section["provider"]].requests[-1]


def _algolia(made: Made) -> None:
    asked = json.loads(made.request.get_data())
    assert asked == {
        "query": made.arguments["query"],
        "hitsPerPage": made.arguments["hits_per_page"],
        "attributesToRetrieve": made.arguments["attributes_to_retrieve"],
    }
    assert made.output["hits"] == [{"objectID": "7", "attribute1": "about searchquery", "attribute2": 2}]


def _arxiv(made: Made) -> None:
    asked = made.request.args
    assert asked["search_query"] == made.arguments["query"]
    assert int(asked["max_results"]) == made.arguments["max_results"]
    assert (asked["sortBy"], asked["sortOrder"]) == ("relevance", "descending")
    assert made.output["result"][0]["entry_id"] == "http://arxiv.org/abs/hep-ex/0307015v1"


def _brave(made: Made) -> None:
    assert made.request.args["q"] == made.arguments["query"]
    assert made.request.headers["x-subscription-token"] == KEY
    assert [page["link"] for page in made.output["result"]] == [url for _, url, _ in PAGES[:3]]


def _session(made: Made) -> None:
    vendor = made.outside.vendors["browserbase"]
    assert isinstance(vendor, Browserbase)
    assert vendor.wanted[-1]["projectId"] == made.arguments["project_id"]
    assert vendor.sessions[made.output["id"]]["status"] == made.output["status"] == "RUNNING"


def _live_urls(made: Made) -> None:
    assert made.request.path == f"/v1/sessions/{made.arguments['id']}/debug"
    assert made.output["urls"]["debuggerUrl"].endswith(made.arguments["id"])


def _upload(made: Made) -> None:
    given, form = made.arguments, made.request.form
    params = {**made.section["setup"].get("params", {}), **given["upload_params"]}
    kind = params.pop("resource_type", "image")
    steps = params.pop("transformation", None)
    assert (form["file"], form["public_id"]) == (given["file"], given["public_id"])
    assert {name: form[name] for name in params} == params
    assert form.get("transformation") == _written(steps)
    url = f"{made.outside.vendors['cloudinary'].url}/{CLOUD}/{kind}/upload/v1719307544/{given['public_id']}.jpg"
    assert (made.output["url"], made.output["public_id"]) == (url, given["public_id"])


def _written(steps: Any) -> str | None:
    """The transformations of the examples as the vendor's urls write them."""
    if steps is None or len(steps) == 1:
        return None if steps is None else "eo_30,so_0"
    layer = base64.urlsafe_b64encode(steps[2]["overlay"]["url"].encode()).decode()
    return f"ar_1.0,w_250/f_auto/l_fetch:{layer}/fl_layer_apply"


def _mail(made: Made) -> None:
    post, given = made.outside.post, made.arguments
    envelope = post.envelopes[-1]
    assert isinstance(envelope.content, bytes)
    message = message_from_bytes(envelope.content, policy=policy.default)
    assert (envelope.mail_from, envelope.rcpt_tos) == (given["from"], [given["to"]])
    assert (message["Subject"], message.get_content().strip()) == (given["subject"], given["body"])
    assert post.signed_in[-1] == USER
    assert made.output["success"] is True


def _sound(made: Made) -> None:
    """The tone of the film, as it was."""
    sound = base64.b64decode(made.output["fileoutput"])
    assert (made.output["result"], sound[:1]) == (True, b"\xff")  # each frame of ADTS begins so
    command = [get_ffmpeg_exe(), "-loglevel", "error", "-i", "-", "-f", "s16le", "-"]
    played = subprocess.run(command, input=sound, capture_output=True, check=True).stdout
    assert len(played) > 44100 * 2 * 0.9


def _cells(made: Made) -> None:
    assert made.request.headers["authorization"].startswith("Bearer token-")
    sheets, given = made.outside.vendors["google_sheets"], made.arguments
    assert isinstance(sheets, Sheets)
    assert given["spreadsheet_id"] in made.request.path
    match made.section["method"]:
        case "read_values":
            assert made.output["range"] == given["range"]
        case "write_values":
            assert [[sheets.cells[row, column] for column in (1, 2)] for row in (1, 2)] == given["values"]
            assert made.output["updated_cells"] == 4
        case "append_values":
            last = max(row for row, _ in sheets.cells)
            assert [[sheets.cells[row, column] for column in (1, 2)] for row in (last - 1, last)] == given["values"]
            assert made.output["updated_rows"] == 2
        case "clear_values":
            assert not [place for place in sheets.cells if 2 <= place[0] <= 100 and place[1] <= 2]
            assert made.output["cleared_range"] == given["range"]
        case "batch_read":
            assert [one["range"] for one in made.output["value_ranges"]] == given["ranges"]
        case "batch_write":
            assert sheets.cells[1, 3] == "More"
            assert made.output["total_updated_cells"] == 8


def _pages(made: Made) -> None:
    vendor, given = made.outside.vendors["llama_parse"], made.arguments
    assert isinstance(vendor, LlamaParse)
    job = vendor.jobs[-1]
    options = {**made.section["setup"]["params"], **given["params"]}
    assert {name: job[name] for name in options} == options
    text = base64.b64decode(given["file"]).decode() if given.get("base64") else job["source_url"]
    assert (job.get("content") or given["file"]) == text
    assert made.output["documents"][0]["text"] == f"# {text}"
    assert made.output["documents"][0]["metadata"]["file_name"] == given["filename"]


def _tools(made: Made) -> None:
    assert {one["name"] for one in made.output["tools"]} == {"read_wiki_structure", "search_repositories"}
    _is_spoken_to(made)


def _tool(made: Made) -> None:
    given = made.arguments
    assert made.outside.wiki.told(tool=given["tool_name"])[-1]["arguments"] == given["arguments"]
    first = next(iter(given["arguments"].values()))
    assert first in made.output["text"]
    assert made.output["is_error"] is False
    _is_spoken_to(made)


def _is_spoken_to(made: Made) -> None:
    """Over the transport that the setup names, with the headers that it has."""
    setup = made.section["setup"]
    paths = {"/sse", "/messages/"} if setup["transport"] == "sse" else {"/mcp"}
    lines = [line for line in made.outside.wiki.told() if line.get("path") in paths]
    headers = setup.get("http_headers", {})
    token = f"Bearer {TOKEN}" if "bearer" in setup else None
    wanted = {"authorization": token, "cache": headers.get("Cache-Control")}
    assert [line for line in lines if wanted.items() <= line.items()]


def _browser(made: Made) -> None:
    assert made.output["output"] == f"at {made.arguments['text']}"
    assert "/www.google.com" in {request.path for request in made.outside.target.requests}


def _crawl(made: Made) -> None:
    asked = json.loads(made.request.get_data())
    assert asked == {"url": made.arguments["url"], **made.arguments["params"]}
    assert made.request.headers["authorization"] == f"Bearer {KEY}"
    assert made.output["result"][0]["content"] == "# A page"


def _elements(made: Made) -> None:
    given, request = made.arguments, made.request
    assert {name: request.form[name] for name in given["partition_params"]} == given["partition_params"]
    assert made.output["status_code"] == 200
    assert made.output["content"][0]["text"] == "A title"
    assert made.output["content"][0]["metadata"]["filename"] == given["filename"]


def _weather(made: Made) -> None:
    assert made.request.args["q"] == made.arguments["location"]
    assert made.request.args["appid"] == KEY
    assert made.output["result"].startswith(f"Weather in {made.arguments['location']}")


def _articles(made: Made) -> None:
    assert made.output["documents"][0]["page_content"] == "A julep is a drink."


def request_made(made: Made) -> None:
    """The request of an api_call came to its target, with the secrets of its headers in their places."""
    request, section, given = made.outside.target.requests[-1], made.section, made.arguments
    url = given.get("url", section["url"])
    assert request.method == given.get("method", section["method"])
    assert request.base_url == url
    assert dict(request.args) == given.get("params", {})
    assert (json.load(io.BytesIO(request.get_data())) if request.get_data() else None) == given.get("json")
    for name, text in section.get("headers", {}).items():
        assert request.headers[name] == text.replace("secret://", "value-of-")
    if "auth" in section:
        token = section["auth"]["bearer"].replace("secret://", "value-of-")
        assert request.headers["authorization"] == f"Bearer {token}"
    assert made.output["status_code"] == 200
    assert made.output["json"] == {"path": request.path}


EFFECTS: Mapping[tuple[str, str | None], Callable[[Made], None]] = {
    ("algolia", "search"): _algolia,
    ("arxiv", "search"): _arxiv,
    ("brave", "search"): _brave,
    ("browserbase", "create_session"): _session,
    ("browserbase", "get_live_urls"): _live_urls,
    ("cloudinary", "media_upload"): _upload,
    ("email", "send"): _mail,
    ("ffmpeg", "bash_cmd"): _sound,
    ("google_sheets", "read_values"): _cells,
    ("google_sheets", "write_values"): _cells,
    ("google_sheets", "append_values"): _cells,
    ("google_sheets", "clear_values"): _cells,
    ("google_sheets", "batch_read"): _cells,
    ("google_sheets", "batch_write"): _cells,
    ("llama_parse", "parse"): _pages,
    ("mcp", "list_tools"): _tools,
    ("mcp", "call_tool"): _tool,
    ("remote_browser", "perform_action"): _browser,
    ("spider", "crawl"): _crawl,
    ("unstructured", "parse"): _elements,
    ("weather", "get"): _weather,
    ("wikipedia", "search"): _articles,
}
# Values of the secrets that the documents name.
SECRETS: Mapping[str, str] = {
    "ALGOLIA_APPLICATION_ID": APPLICATION,
    "ALGOLIA_API_KEY": KEY,
    "BRAVE_API_KEY": KEY,
    "BROWSERBASE_API_KEY": KEY,
    "CLOUDINARY_API_KEY": KEY,
    "CLOUDINARY_API_SECRET": SECRET,
    "LLAMAPARSE_API_KEY": KEY,
    "MAILGUN_PASSWORD": PASSWORD,
    "OPENWEATHERMAP_API_KEY": KEY,
    "SPIDER_API_KEY": KEY,
    "UNSTRUCTURED_API_KEY": KEY,
    "YOUR_CLOUDINARY_API_KEY": KEY,
    "YOUR_CLOUDINARY_API_SECRET": SECRET,
    "YOUR_PASSWORD": PASSWORD,
    "YOUR_SPIDER_API_KEY": KEY,
    "your_github_token": TOKEN,
    **{f"{name}_API_KEY": f"value-of-{name}_API_KEY" for name in ("JINA", "RAPID", "REPLICATE", "SHOTSTACK")},
    "RAPID_API_HOST": "value-of-RAPID_API_HOST",
}
