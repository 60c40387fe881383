"""
Cloudinary, uploads and delivery.

Formats: https://cloudinary.com/documentation/image_upload_api_reference#upload_response; signatures are checked as
https://cloudinary.com/documentation/authentication_signatures says; `cloudinary`, the vendor's client, uploads here.
"""

import hashlib
from typing import Any

from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json

CLOUD, SECRET = "demo", "the-secret-0815"
PICTURE = b"\xff\xd8\xff\xe0 a picture"
UNSIGNED = frozenset({"file", "cloud_name", "resource_type", "api_key", "signature"})


class Cloudinary(FakeVendor):
    """
    Takes what is signed with `SECRET`; delivers `PICTURE` under every url of the cloud.

    `is_gone`: there is none; `is_cut`: it breaks off.
    """

    is_gone = False
    is_cut = False

    def _setup(self) -> dict[str, Any]:
        return {
            "cloudinary_api_key": KEY,
            "cloudinary_api_secret": SECRET,
            "cloudinary_cloud_name": CLOUD,
            "base_url": self.url,
            "delivery_url": self.url,
        }

    def _is_known(self, request: Request) -> bool:
        if request.method == "GET":
            return True  # what is uploaded is public
        form = request.form
        return form.get("api_key") == KEY and form.get("signature") == _signature(dict(form.items()))

    def _answer(self, request: Request) -> Response:
        if request.method == "GET":
            if self.is_gone or not request.path.startswith(f"/{CLOUD}/"):
                return Response(status=404, headers={"x-cld-error": "Resource not found"})
            found = Response(PICTURE, content_type="image/jpeg")
            if self.is_cut:
                found.headers["content-length"] = str(len(PICTURE) + 1)
            return found
        form, path = request.form, request.path.split("/")
        if path[1:3] != ["v1_1", CLOUD] or path[4:] != ["upload"] or not form.get("file"):
            return as_json({"error": {"message": "Missing required parameter - file"}}, 400)
        identity = form.get("public_id") or "random"
        identity = f"{form['folder']}/{identity}" if "folder" in form else identity
        return as_json(
            {
                "asset_id": "3515c6000a548515f1134043f9785c2f",
                "public_id": identity,
                "version": 1719307544,
                "version_id": "7d2cc533bee9ff39f7da7414b61fce7e",
                "signature": "d0b1009e3271a942836c25756ce3e04d205bf754",
                "width": 864,
                "height": 576,
                "format": "jpg",
                "resource_type": path[3],
                "created_at": "2024-06-25T09:25:44Z",
                "tags": form["tags"].split(",") if "tags" in form else [],
                "bytes": len(PICTURE),
                "type": "upload",
                "etag": "1bbd3b9d0d1a4b6e5c3a1e2c",
                "url": f"{self.url}/{CLOUD}/{path[3]}/upload/v1719307544/{identity}.jpg",
                "secure_url": f"{self.url}/{CLOUD}/{path[3]}/upload/v1719307544/{identity}.jpg",
                "original_filename": "sample",
            }
        )

    def _refusal(self, status: int) -> Response:
        return as_json({"error": {"message": self.words}}, status)


def _signature(form: dict[str, str]) -> str:
    """All parameters in the order of the alphabet, without the file and who signs; the secret behind them."""
    signed = [f"{name}={form[name]}" for name in sorted(form) if name not in UNSIGNED and form[name] != ""]
    text = "&".join(one.replace("&", "%26") for one in signed) + SECRET
    return hashlib.sha1(text.encode()).hexdigest()  # noqa: S324 the vendor's choice
