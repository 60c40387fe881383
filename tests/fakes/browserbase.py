"""
Browserbase: sessions and extensions; and the archives of GitHub that extensions come from.

Formats: https://docs.browserbase.com/reference/api. The vendor's own client (`browserbase`) starts, reads, ends and
lists sessions here, and uploads extensions.
"""

import io
import re
import zipfile
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json

ERRORS = {400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
PROJECT = "11111111-2222-4333-8444-555555555555"
SESSION = re.compile(r"/v1/sessions/(?P<id>[^/]+)(?P<debug>/debug)?")
ARCHIVE = re.compile(r"/(?P<owner>[^/]+)/(?P<name>[^/]+)/archive/(?P<ref>.+)\.zip")
EXTENSION = {"manifest.json": b'{"manifest_version": 3}', "js/page.js": b"'use strict'"}
ACCEPTED = {"projectId", "extensionId", "browserSettings", "timeout", "keepAlive", "proxies", "region", "userMetadata"}


class Browserbase(FakeVendor):
    """`sessions` by id; `wanted` is what each was started with; `uploads` are extensions; `refs` those asked for."""

    def __init__(self, server: HTTPServer) -> None:
        self.sessions: dict[str, dict[str, Any]] = {}
        self.wanted: list[dict[str, Any]] = []
        self.uploads: list[tuple[str, dict[str, bytes]]] = []
        self.refs: list[str] = []
        self.archive: bytes = zipped({f"extension-main/{name}": content for name, content in EXTENSION.items()})
        super().__init__(server)

    def _setup(self) -> dict[str, Any]:
        return {"api_key": KEY, "project_id": PROJECT, "api_url": self.url, "github_url": self.url}

    def _is_known(self, request: Request) -> bool:
        return not request.path.startswith("/v1/") or request.headers.get("x-bb-api-key") == KEY

    def _answer(self, request: Request) -> Response:
        session = SESSION.fullmatch(request.path)
        match request.method, request.path:
            case "GET", "/v1/sessions":
                status = request.args.get("status")
                return as_json([one for one in self.sessions.values() if status in {None, one["status"]}])
            case "POST", "/v1/sessions":
                return self._start(request.get_json())
            case "POST", "/v1/extensions":
                return self._upload(request)
            case "GET", path if archive := ARCHIVE.fullmatch(path):
                return self._archive(archive)
            case "GET", path if path.startswith("/stored/"):
                return Response(self.archive, content_type="application/zip")
        if session is None or session["id"] not in self.sessions:
            return self._refusal(404)
        found = self.sessions[session["id"]]
        if session["debug"]:
            return as_json(self._live(session["id"]))
        if request.method == "POST":
            if request.get_json() not in (
                {"projectId": PROJECT, "status": "REQUEST_RELEASE"},
                {"status": "REQUEST_RELEASE"},
            ):
                return self._refusal(400)
            found.update(status="COMPLETED", endedAt="2026-11-30T12:05:00.000Z")
        return as_json(found)

    def _refusal(self, status: int) -> Response:
        error = {"statusCode": status, "error": ERRORS.get(status, "Internal Server Error"), "message": self.words}
        return as_json(error, status)

    def _start(self, wanted: dict[str, Any]) -> Response:
        if wanted.keys() - ACCEPTED or not 60 <= wanted.get("timeout", 300) <= 21600:
            return self._refusal(400)
        self.wanted.append(wanted)
        name = f"session-{len(self.sessions) + 1}"
        self.sessions[name] = {
            "id": name,
            "createdAt": "2026-11-30T12:00:00.000Z",
            "updatedAt": "2026-11-30T12:00:00.000Z",
            "startedAt": "2026-11-30T12:00:00.000Z",
            "expiresAt": "2026-11-30T13:00:00.000Z",
            "projectId": wanted.get("projectId", PROJECT),
            "status": "RUNNING",
            "region": "us-west-2",
            "keepAlive": wanted.get("keepAlive", False),
            "proxyBytes": 0,
            "contextId": None,
        }
        access = {
            "connectUrl": f"wss://connect.usw2.browserbase.com/?signingKey=signed-{name}",
            "seleniumRemoteUrl": "http://connect.usw2.browserbase.com/webdriver",
            "signingKey": f"signed-{name}",
        }
        return as_json({**self.sessions[name], **access}, 201)

    def _live(self, name: str) -> dict[str, Any]:
        watch = f"https://www.browserbase.com/devtools/{name}"
        page = {
            "id": "page-1",
            "url": "https://example.com/",
            "faviconUrl": "https://example.com/favicon.ico",
            "title": "Example",
            "debuggerUrl": f"{watch}/page-1",
            "debuggerFullscreenUrl": f"{watch}-fullscreen/page-1",
        }
        urls = {"debuggerUrl": watch, "debuggerFullscreenUrl": f"{watch}-fullscreen", "wsUrl": f"wss://x.test/{name}"}
        return {**urls, "pages": [page]}

    def _upload(self, request: Request) -> Response:
        file = request.files["file"]
        with zipfile.ZipFile(io.BytesIO(file.read())) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        if "manifest.json" not in content:
            return self._refusal(400)
        self.uploads.append((str(file.filename), content))
        at = "2026-11-30T12:00:00.000Z"
        extension = {"id": "extension-1", "createdAt": at, "updatedAt": at, "fileName": file.filename}
        return as_json({**extension, "projectId": PROJECT})

    def _archive(self, found: re.Match[str]) -> Response:
        """GitHub keeps archives on another host."""
        self.refs.append(found["ref"])
        if found["name"] == "missing":
            return Response("Not Found", 404, content_type="text/plain")
        return Response("", 302, headers={"location": f"{self.url}/stored/{found['name']}"})


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip archive of the files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()
