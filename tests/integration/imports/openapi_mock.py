"""
`python openapi_mock.py DOCUMENT PORT`: a server that takes what an OpenAPI document allows, and nothing else.

It knows nothing of Toolbus: openapi-core takes each request apart by the document (path, styles of parameters,
formats, body, credentials) and validates every part. What is right is answered with 200, what is not with 400 and the
reason. It runs in an environment of its own (`make specs`).
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.exceptions import OpenAPIError
from werkzeug.datastructures import Headers, ImmutableMultiDict

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class Asked:
    """A request in the form that openapi-core reads."""

    def __init__(self, handler: "Handler", body: bytes) -> None:
        target = urlsplit(handler.path)
        cookies = (pair.partition("=") for pair in handler.headers.get("cookie", "").split("; ") if pair)
        self.host_url = handler.server_url
        # a slash inside a value stays encoded: it divides no parts of the path
        self.path = "/".join(unquote(part.replace("%2F", "%252F")) for part in target.path.split("/"))
        self.method = handler.command.lower()
        self.content_type = handler.headers.get("content-type", "")
        self.body = body or None
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(
                parse_qsl(target.query, keep_blank_values=True, strict_parsing=bool(target.query))
            ),
            header=Headers(handler.headers.items()),
            cookie=ImmutableMultiDict([(name, value) for name, _, value in cookies]),
        )


class Handler(BaseHTTPRequestHandler):
    """Validates each request by itself."""

    api: OpenAPI
    server_url: str
    lock = Lock()
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with self.lock:
            status, told = self._judge(body)
        answer = json.dumps(told, default=str).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_OPTIONS = do_HEAD = do_PATCH = do_TRACE = handle_any  # noqa: N815 - the names of http.server

    def _judge(self, body: bytes) -> tuple[int, dict[str, Any]]:
        try:
            self.api.validate_request(Asked(self, body))
        except OpenAPIError as error:
            return 400, {"error": f"{error!r}: {error.__cause__!r}"[:2000]}
        return 200, {"target": self.path, "body": body.decode(errors="replace")[:2000]}

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


def document_of(path: Path, url: str) -> dict[str, Any]:
    """The document, served here: no other server is left in it."""
    raw = path.read_bytes()
    document: dict[str, Any] = json.loads(raw) if path.suffix == ".json" else yaml.load(raw, yaml.CSafeLoader)
    document["servers"] = [{"url": url}]
    parameters = [*document.get("components", {}).get("parameters", {}).values()]
    for item in document["paths"].values():
        for part in (item, *(item[method] for method in METHODS if method in item)):
            part.pop("servers", None)
            parameters += part.get("parameters", [])
            for content in part.get("requestBody", {}).get("content", {}).values():
                if content.get("schema", {}) is None:
                    del content["schema"]  # what is no schema says nothing
    for parameter in parameters:
        _let_be_written(document, parameter)
    return document


def _let_be_written(document: dict[str, Any], parameter: dict[str, Any]) -> None:
    """Only properties can be read-only (OpenAPI 3.0.4 §4.7.24.2); some parameters share a schema with one that is."""
    reference = parameter.get("schema", {}).get("$ref", "")
    shared = document.get("components", {}).get("schemas", {}).get(reference.rpartition("/")[2], {})
    if shared.get("readOnly"):
        parameter["schema"] = {name: value for name, value in shared.items() if name != "readOnly"}


def _as_text(body: bytes, **_: str) -> str:
    """Bytes to which a document gives a schema of type string, without saying how they are one."""
    return body.decode("latin-1")


def main(path: str, port: str) -> None:
    """Serve until killed."""
    Handler.server_url = f"http://127.0.0.1:{port}"
    config = Config(
        spec_validator_cls=None,  # the documents are their vendors' to validate, and that takes minutes
        extra_media_type_deserializers={"application/cbor": _as_text},
    )
    Handler.api = OpenAPI.from_dict(document_of(Path(path), Handler.server_url), config=config)
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
