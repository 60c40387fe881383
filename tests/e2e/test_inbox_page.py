"""The inbox page as `toolbus up` serves it, in one process and in several: what people say there moves real calls."""

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import ThreadingHTTPServer
from typing import Any

import httpx
import orjson
import pytest

from tests.e2e.up.conftest import TOOLBUS, Target, environment
from tests.integration.http.system import until

JsonObject = dict[str, Any]
SAME_SITE = {"sec-fetch-site": "same-origin", "origin": "null"}
_HIDDEN = re.compile(r'name="(token|digest)" value="([^"]+)"')
APPROVAL = {"required": True, "may_edit": True}
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


class Installation:
    """`toolbus up` with its first key, and a person's browser."""

    def __init__(self, url: str, api_key: str) -> None:
        self.url = url
        self.api = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {api_key}"}, trust_env=False)
        self.browser = httpx.Client(base_url=url, headers=SAME_SITE, trust_env=False, timeout=20)

    def sign_in(self) -> str:
        """Sign in with a new key; its id."""
        wanted = {"subject": "user:ana", "scopes": ["approve", "work", "operate"]}
        key: JsonObject = self.api.post("/v1/keys", json=wanted).raise_for_status().json()
        answer = self.post("/inbox/sign-in", "/inbox/sign-in", key=key["token"], next="/")
        assert answer.headers["location"] == "/"
        return str(key["id"])

    def define(self, **definition: Any) -> None:
        """Register a tool."""
        self.api.put(f"/v1/tools/{definition['name']}", json=definition).raise_for_status()

    def call(self, tool: str, **arguments: Any) -> JsonObject:
        """Submit a call."""
        answer: JsonObject = self.api.post("/v1/calls", json={"tool": tool, "arguments": arguments}).json()
        return answer

    def ended(self, call: JsonObject) -> JsonObject:
        """The call when it has ended."""
        found: JsonObject = {}

        def is_ended() -> bool:
            found.update(self.api.get(f"/v1/calls/{call['id']}").json())
            return found["finished_at"] is not None

        until(is_ended)
        return found

    def listed(self, tool: str) -> str:
        """The path of the page of the open wait of a tool, once the list shows it."""
        pattern = re.compile(r'href="(/inbox/waits/wait_\w+)" id="\S+"><span class="told">' + tool)
        until(lambda: pattern.search(self.browser.get("/").text) is not None)
        found = pattern.search(self.browser.get("/").text)
        assert found is not None
        return found[1]

    def post(self, page: str, path: str, **values: str) -> httpx.Response:
        """Send a form of a page."""
        hidden = dict(_HIDDEN.findall(self.browser.get(page).text))
        answer = self.browser.post(path, data=hidden | values)
        assert answer.status_code == 303, answer.text
        return answer

    def close(self) -> None:
        """The connections are closed."""
        self.api.close()
        self.browser.close()


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """The address of a target."""

    class OwnTarget(Target):
        ended = threading.Event()

        def do_POST(self) -> None:  # noqa: N802 - the library's name
            """Answer, unless whoever asked is gone by then."""
            with suppress(BrokenPipeError, ConnectionResetError):
                self.do_GET()

    server = ThreadingHTTPServer(("127.0.0.1", 0), OwnTarget)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    OwnTarget.ended.set()
    server.shutdown()
    server.server_close()


@pytest.fixture(params=[[], ["--processes"]], ids=["one process", "processes"], scope="module")
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JsonObject]:
    """What `toolbus up` left for clients, as long as it runs."""
    folder = tmp_path_factory.mktemp("inbox")
    command = [*TOOLBUS, "up", "--port", "0", "--nats-port", "0", "--allow-egress", "127.0.0.0/8", *request.param]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, env=environment(), text=True)
    assert process.stderr is not None
    try:
        assert any(line.startswith("Stop with") for line in iter(process.stderr.readline, ""))
        told: JsonObject = orjson.loads((folder / ".toolbus" / "credentials.json").read_bytes())
        yield told
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=40)


@pytest.fixture
def installation(running: JsonObject) -> Iterator[Installation]:
    """Everything on this machine, and a browser in which nobody has signed in."""
    opened = Installation(running["url"], running["api_key"])
    yield opened
    opened.close()


def test_what_people_say_at_the_page_moves_calls(installation: Installation, target: str) -> None:
    """Approve, edit, answer, complete and settle: each call goes on as it was told, by whom stands in its wait."""
    api_call = {"method": "POST", "url": f"{target}/{{path}}", "params_schema": PATH}
    installation.define(name="pay", api_call=api_call, approval=APPROVAL)
    installation.define(name="draft", function={"parameters": {"type": "object"}})
    fields = {"path": {"type": "string"}}
    installation.define(name="ask", api_call=api_call, ask_user={"fields": fields, "message": "Where to?"})
    installation.define(name="lost", api_call=api_call, timeout_s=0.5)
    installation.sign_in()

    paid = installation.call("pay", path="a")
    page = installation.listed("pay")
    assert "POST" in installation.browser.get(page).text
    installation.post(page, f"{page}/approve", note="fine")
    assert installation.ended(paid)["output"]["json"] == {"path": "/a"}

    drafted = installation.call("draft", to="x")
    page = installation.listed("draft")
    installation.post(page, f"{page}/complete", outcome="succeeded", output='{"text": "hello"}')
    assert installation.ended(drafted)["output"] == {"text": "hello"}

    asked = installation.call("ask")
    page = installation.listed("ask")
    installation.post(page, f"{page}/answer", **{"value:path": "b"})
    assert installation.ended(asked)["output"]["json"] == {"path": "/b"}

    lost = installation.call("lost", path="silent")
    page = installation.listed("lost")
    installation.post(page, f"{page}/settle", outcome="succeeded", output='{"seen": true}', note="asked there")
    assert installation.ended(lost)["output"] == {"seen": True}
    until(lambda: page not in installation.browser.get("/").text)


def test_an_open_page_hears_of_a_wait_and_ends_with_its_key(installation: Installation, target: str) -> None:
    """The stream passes through the one port, whoever serves it; a revoked key ends it."""
    api_call = {"method": "POST", "url": f"{target}/{{path}}", "params_schema": PATH}
    installation.define(name="pay", api_call=api_call, approval=APPROVAL)
    key_id = installation.sign_in()
    with installation.browser.stream("GET", "/inbox/events", headers={"accept": "text/event-stream"}) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith(":")) == ": still here"
        wait = installation.call("pay", path="a")["wait"]
        heard = next(line for line in lines if line.startswith("data:"))
        assert orjson.loads(heard.removeprefix("data:")) == [wait["id"]]
        installation.api.delete(f"/v1/keys/{key_id}").raise_for_status()
        installation.call("pay", path="b")
        assert not [line for line in lines if line.startswith("data:")]
    assert installation.browser.get("/").status_code == 303


def test_after_signing_out_a_copy_of_the_cookie_opens_nothing(installation: Installation) -> None:
    """The service remembers, not only the browser."""
    installation.sign_in()
    copy = dict(installation.browser.cookies)
    installation.post("/", "/inbox/sign-out")
    with httpx.Client(base_url=installation.url, cookies=copy, trust_env=False) as thief:
        assert thief.get("/").status_code == 303
