"""
Unstructured, the partition endpoint.

Formats: https://docs.unstructured.io/api-reference/legacy-api/partition/document-elements; `unstructured-client`, the
vendor's client, partitions a document here.
"""

from typing import Any

from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json

STRATEGIES = {"fast", "hi_res", "auto", "ocr_only", "od_only", "vlm"}


class Unstructured(FakeVendor):
    """Every line of a document is an element, its first one the title."""

    def _setup(self) -> dict[str, Any]:
        return {"unstructured_api_key": KEY, "server_url": self.url}

    def _is_known(self, request: Request) -> bool:
        return request.headers.get("unstructured-api-key") == KEY

    def _answer(self, request: Request) -> Response:
        if request.method != "POST" or request.path != "/general/v0/general":
            return as_json({"detail": "Not Found"}, 404)
        upload, form = request.files.get("files"), request.form
        if upload is None:
            return as_json({"detail": [{"loc": ["body", "files"], "msg": "field required", "type": "missing"}]}, 422)
        if form.get("strategy", "auto") not in STRATEGIES:
            return as_json({"detail": f"Invalid strategy: {form['strategy']}. Must be one of {STRATEGIES}"}, 400)
        languages = form.getlist("languages[]") or ["eng"]
        lines = upload.read().decode().splitlines()
        if form.get("output_format") == "text/csv":
            rows = [f"{_kind(place)},{line},{upload.filename}" for place, line in enumerate(lines)]
            return Response("\n".join(["type,text,filename", *rows]), content_type="text/csv; charset=utf-8")
        return as_json([_element(place, line, str(upload.filename), languages) for place, line in enumerate(lines)])

    def _refusal(self, status: int) -> Response:
        return as_json({"detail": self.words}, status)


def _kind(place: int) -> str:
    return "Title" if place == 0 else "NarrativeText"


def _element(place: int, line: str, filename: str, languages: list[str]) -> dict[str, Any]:
    metadata = {"languages": languages, "filename": filename, "filetype": "text/plain"}
    return {"type": _kind(place), "element_id": f"{place:032x}", "text": line, "metadata": metadata}
