"""
LlamaParse, second version of the interface.

Formats: https://developers.llamaindex.ai/llamaparse/parse/guides/api-reference/; `llama-cloud`, the vendor's client,
parses a document here.
"""

import json
from typing import Any

from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json

TIERS = {"fast", "cost_effective", "agentic", "agentic_plus"}
TIME = "2026-11-30T12:00:00Z"


class LlamaParse(FakeVendor):
    """A document has two pages, the second of which fails; a job is done when it is asked after for the third time."""

    fate = "COMPLETED"
    has_result = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.jobs: list[dict[str, Any]] = []
        self.asked: dict[str, int] = {}

    def _setup(self) -> dict[str, Any]:
        return {"llamaparse_api_key": KEY, "base_url": self.url}

    def _is_known(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {KEY}"

    def _answer(self, request: Request) -> Response:
        match (request.method, request.path):
            case ("POST", "/api/v2/parse/upload"):
                upload = request.files.get("file")
                if upload is None or "configuration" not in request.form:
                    return _faulty("file", "Field required")
                options = json.loads(request.form["configuration"])
                return self._begin({**options, "name": upload.filename, "content": upload.read().decode()})
            case ("POST", "/api/v2/parse"):
                return self._begin(json.loads(request.get_data()))
            case ("GET", path) if path.startswith("/api/v2/parse/job-"):
                return self._tell(int(path.removeprefix("/api/v2/parse/job-")), request.args.getlist("expand"))
            case _:
                return as_json({"detail": "Not Found"}, 404)

    def _refusal(self, status: int) -> Response:
        return as_json({"detail": self.words}, status)

    def _begin(self, options: dict[str, Any]) -> Response:
        if options.get("tier") not in TIERS or "version" not in options:
            return _faulty("tier", "Input should be 'fast', 'cost_effective', 'agentic' or 'agentic_plus'")
        if not {"content", "source_url", "file_id"} & options.keys():
            return _faulty("source_url", "either file_id or source_url is needed")
        self.jobs.append(options)
        return as_json(self._job(len(self.jobs), "PENDING"))

    def _job(self, number: int, status: str) -> dict[str, Any]:
        job = {"id": f"job-{number}", "project_id": "project-1", "status": status, "created_at": TIME}
        options = self.jobs[number - 1]
        error = "the file is broken" if status == "FAILED" else None
        return {**job, "updated_at": TIME, "tier": options["tier"], "name": options.get("name"), "error_message": error}

    def _tell(self, number: int, wanted: list[str]) -> Response:
        times = self.asked[str(number)] = self.asked.get(str(number), 0) + 1
        status = ("PENDING", "RUNNING", self.fate)[min(times, 3) - 1]
        found: dict[str, Any] = {"job": self._job(number, status)}
        options = self.jobs[number - 1]
        text = options.get("content") or options.get("source_url", "")
        if not self.has_result:
            return as_json(found)
        if status == "COMPLETED" and {"text", "markdown"} & set(wanted) and options["tier"] == "fast":
            found["text"] = {"pages": [{"page_number": 1, "text": text}]}
        elif status == "COMPLETED" and "markdown" in wanted:
            first = {"page_number": 1, "markdown": f"# {text}", "success": True}
            found["markdown"] = {"pages": [first, {"page_number": 2, "error": "unreadable scan", "success": False}]}
        return as_json(found)


def _faulty(field: str, words: str) -> Response:
    return as_json({"detail": [{"type": "invalid", "loc": ["body", field], "msg": words, "input": None}]}, 422)
