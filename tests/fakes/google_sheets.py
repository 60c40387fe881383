"""
Google Sheets: a spreadsheet in memory, and the endpoint where service accounts get tokens.

Formats: https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values, tokens by
https://developers.google.com/identity/protocols/oauth2/service-account. Google's own client
(`google-api-python-client` with `google-auth`) reads, writes and appends here too.
"""

import base64
import json
import re
import time
from functools import cache
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.fakes.vendor import FakeVendor, as_json

EMAIL = "robot@project-1.iam.gserviceaccount.com"
SPREADSHEET = "1-the_spreadsheet"
LAST_ROW = 1000
STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
CELLS = re.compile(r"(?:(?P<sheet>[^!]+)!)?(?P<left>[A-Z]+)(?P<top>\d*)(?::(?P<right>[A-Z]+)(?P<bottom>\d*))?")
PATH = re.compile(r"/v4/spreadsheets/(?P<id>[^/]+)/values(?P<batch>:batchGet|:batchUpdate)?(?:/(?P<rest>.+))?")


@cache
def private_key() -> rsa.RSAPrivateKey:
    """The key of the account."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Sheets(FakeVendor):
    """
    One sheet, `cells` by row and column from 1; `tokens` are those given out, each good for `lifetime_s`.

    The spreadsheet has all of the `ids`.
    """

    def __init__(self, server: HTTPServer) -> None:
        self.cells: dict[tuple[int, int], Any] = {}
        self.tokens: list[str] = []
        self.lifetime_s = 3600
        self.ids = {SPREADSHEET}
        self.key_id = uuid4().hex  # tokens are kept by key, for longer than a test
        self.claims: dict[str, Any] = {}
        super().__init__(server)

    def key_file(self) -> dict[str, str]:
        """The key file of the account."""
        pem = private_key().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return {
            "type": "service_account",
            "project_id": "project-1",
            "private_key_id": self.key_id,
            "private_key": pem.decode(),
            "client_email": EMAIL,
            "token_uri": f"{self.url}/token",
        }

    def _setup(self) -> dict[str, Any]:
        packed = base64.b64encode(json.dumps(self.key_file()).encode()).decode()
        return {"use_julep_service": False, "service_account_json": packed, "base_url": self.url}

    def _is_known(self, request: Request) -> bool:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        return request.path == "/token" or bearer in self.tokens

    def _answer(self, request: Request) -> Response:
        if request.path == "/token":
            return self._token(request)
        found = PATH.fullmatch(request.path)
        if found is None or found["id"] not in self.ids:
            return self._refusal(404)
        match request.method, found["batch"], unquote(found["rest"] or ""):
            case "GET", None, cells:
                return as_json(self._read(cells, request))
            case "GET", ":batchGet", "":
                ranges = [self._read(cells, request) for cells in request.args.getlist("ranges")]
                return as_json({"spreadsheetId": SPREADSHEET, "valueRanges": ranges})
            case "POST", ":batchUpdate", "":
                return as_json(self._write_all(request.get_json()))
            case "PUT", None, cells:
                return as_json(self._write(cells, request.get_json(), dict(request.args)))
            case "POST", None, cells if cells.endswith(":append"):
                return as_json(self._append(cells.removesuffix(":append"), request))
            case "POST", None, cells if cells.endswith(":clear"):
                return as_json(self._clear(cells.removesuffix(":clear")))
        return self._refusal(404)

    def _refusal(self, status: int) -> Response:
        return as_json({"error": {"code": status, "message": self.words, "status": STATUSES.get(status)}}, status)

    def _token(self, request: Request) -> Response:
        """A token for whoever signs rightly; else the error of RFC 6749."""
        head, claims, signature = request.form["assertion"].split(".")
        try:
            signed = f"{head}.{claims}".encode()
            private_key().public_key().verify(_bytes(signature), signed, padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return as_json({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}, 400)
        self.claims = json.loads(_bytes(claims))
        if self.claims["iss"] != EMAIL or json.loads(_bytes(head))["alg"] != "RS256":
            return as_json({"error": "invalid_grant", "error_description": "Invalid JWT."}, 400)
        self.tokens.append(f"token-{len(self.tokens) + 1}-{time.monotonic_ns()}")
        return as_json({"access_token": self.tokens[-1], "expires_in": self.lifetime_s, "token_type": "Bearer"})

    def _read(self, cells: str, request: Request) -> dict[str, Any]:
        top, left, bottom, right = _corners(cells)
        how = request.args.get("valueRenderOption", "FORMATTED_VALUE")
        rows = [[self._shown(row, column, how) for column in range(left, right + 1)] for row in range(top, bottom + 1)]
        dimension = request.args.get("majorDimension", "ROWS")
        lines = rows if dimension == "ROWS" else [list(line) for line in zip(*rows, strict=True)]
        told = {"range": cells, "majorDimension": dimension}
        shown = _trimmed([_trimmed(line) for line in lines])
        return {**told, "values": shown} if shown else told

    def _shown(self, row: int, column: int, how: str) -> Any:
        value = self.cells.get((row, column), "")
        return value if how == "UNFORMATTED_VALUE" else str(value).upper() if isinstance(value, bool) else str(value)

    def _write(self, cells: str, body: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        top, left, _, _ = _corners(cells)
        typed = options["valueInputOption"] == "USER_ENTERED"
        rows = body["values"]
        if body.get("majorDimension") == "COLUMNS":
            rows = [list(line) for line in zip(*rows, strict=True)]
        for down, row in enumerate(rows):
            for across, value in enumerate(row):
                if value is not None:
                    self.cells[top + down, left + across] = _typed(value) if typed else value
        widest = max(map(len, rows), default=0)
        told: dict[str, Any] = {
            "spreadsheetId": SPREADSHEET,
            "updatedRange": f"Sheet1!{_letter(left)}{top}:{_letter(left + widest - 1)}{top + len(rows) - 1}",
            "updatedRows": len(rows),
            "updatedColumns": widest,
            "updatedCells": sum(map(len, rows)),
        }
        if str(options.get("includeValuesInResponse")).lower() == "true":
            shown = [[str(value) for value in row] for row in rows]
            told["updatedData"] = {"range": told["updatedRange"], "majorDimension": "ROWS", "values": shown}
        return told

    def _append(self, cells: str, request: Request) -> dict[str, Any]:
        assert request.args["insertDataOption"] in {"INSERT_ROWS", "OVERWRITE"}
        _, left, _, _ = _corners(cells)
        last = max((row for row, _ in self.cells), default=0)
        updates = self._write(f"{_letter(left)}{last + 1}", request.get_json(), dict(request.args))
        return {"spreadsheetId": SPREADSHEET, "tableRange": cells, "updates": updates}

    def _clear(self, cells: str) -> dict[str, Any]:
        top, left, bottom, right = _corners(cells)
        for row, column in list(self.cells):
            if top <= row <= bottom and left <= column <= right:
                del self.cells[row, column]
        return {"spreadsheetId": SPREADSHEET, "clearedRange": cells}

    def _write_all(self, body: dict[str, Any]) -> dict[str, Any]:
        responses = [self._write(block["range"], block, body) for block in body["data"]]
        return {
            "spreadsheetId": SPREADSHEET,
            "totalUpdatedSheets": 1,
            "totalUpdatedRows": sum(one["updatedRows"] for one in responses),
            "totalUpdatedColumns": sum(one["updatedColumns"] for one in responses),
            "totalUpdatedCells": sum(one["updatedCells"] for one in responses),
            "responses": responses,
        }


def _corners(cells: str) -> tuple[int, int, int, int]:
    found = CELLS.fullmatch(cells)
    assert found is not None, cells
    top, left = int(found["top"] or 1), _number(found["left"])  # a whole column begins at the top
    bottom = int(found["bottom"] or (top if found["top"] else LAST_ROW))
    return top, left, bottom, _number(found["right"] or found["left"])


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _letter(number: int) -> str:
    return chr(64 + number)


def _typed(value: Any) -> Any:
    """As a person would have typed it."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _trimmed(line: list[Any]) -> list[Any]:
    while line and line[-1] in ("", []):
        line = line[:-1]
    return line


def _bytes(packed: str) -> bytes:
    return base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
