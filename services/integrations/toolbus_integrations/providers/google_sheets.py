"""
Google Sheets: cells are read, written and appended, as a service account.

The account signs for a token of its own (`google_accounts.py`); a spreadsheet has to be shared with the account's
address. There is no account of the operator's that calls could use instead.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import httpx
from pydantic import Field, field_validator
from pydantic_core import to_jsonable_python

from toolbus.provider import PUT, READ, WRITE, Call, Info, Provider, ToolFailed
from toolbus_integrations.providers.google_accounts import GOOGLE, ServiceAccount, forget, read_account, token
from toolbus_integrations.providers.google_ranges import (
    Append,
    Appended,
    BatchRead,
    BatchWrite,
    Clear,
    Cleared,
    ManyUpdated,
    ManyUpdates,
    ManyValues,
    Read,
    Update,
    Updated,
    Values,
    Write,
    Writing,
)
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key

SCOPE: Final = "https://www.googleapis.com/auth/spreadsheets"


class Setup(Closed):
    """
    `service_account_json`: the key file of a service account, as JSON or base64 of it.

    `token_url` replaces the one that the key file names. `use_julep_service` and `default_retry_count` are taken
    where they say what holds anyway: calls go as the given account, and are repeated as the tool's policy says.
    """

    service_account_json: Key
    use_julep_service: bool = False
    default_retry_count: int = Field(default=3, ge=1, le=10, deprecated="retries are set in the tool's policy")
    base_url: BaseUrl = "https://sheets.googleapis.com"
    token_url: BaseUrl | None = None

    @field_validator("use_julep_service")
    @classmethod
    def _nobody_else_pays(cls, wanted: object) -> object:
        if wanted:
            raise ValueError("there is no shared account here: set this to false and give service_account_json")
        return wanted

    @field_validator("service_account_json")
    @classmethod
    def _is_a_key_file(cls, text: str) -> str:
        read_account(text)
        return text

    def account(self) -> ServiceAccount:
        """The account, which signs at `token_url` if there is one."""
        account = read_account(self.service_account_json)
        return account.model_copy(update={"token_uri": self.token_url}) if self.token_url else account


provider = Provider(
    "google_sheets",
    info=Info(
        friendly_name="Google Sheets",
        url="https://sheets.google.com",
        docs="https://developers.google.com/workspace/sheets/api/reference/rest",
    ),
    setup=Setup,
    extra="integrations",
    needs=("cryptography",),
)


@provider.method(contract=READ, retry_on=(500, 502))
async def read_values(arguments: Read, setup: Setup, call: Call) -> Values:
    """Read the cells of a range."""
    answer = await _ask(
        call, setup, "GET", _values(arguments.spreadsheet_id, arguments.range), options=arguments.options()
    )
    return GOOGLE.read(answer, Values)


@provider.method(contract=PUT, retry_on=(500, 502))
async def write_values(arguments: Write, setup: Setup, call: Call) -> Updated:
    """Write values into a range, over what stands there."""
    path = _values(arguments.spreadsheet_id, arguments.range)
    body = {"range": arguments.range, "values": arguments.values}
    answer = await _ask(call, setup, "PUT", path, options=_input(arguments), body=body)
    return _updated(GOOGLE.read(answer, Update))


@provider.method(contract=WRITE)
async def append_values(arguments: Append, setup: Setup, call: Call) -> Updated:
    """Append rows to the table that is found in a range."""
    path = _values(arguments.spreadsheet_id, arguments.range, ":append")
    options = {**_input(arguments), "insertDataOption": arguments.insert_data_option}
    body = {"range": arguments.range, "values": arguments.values}
    answer = await _ask(call, setup, "POST", path, options=options, body=body)
    return _updated(GOOGLE.read(answer, Appended).updates)


@provider.method(contract=PUT, retry_on=(500, 502))
async def clear_values(arguments: Clear, setup: Setup, call: Call) -> Cleared:
    """Empty the cells of a range."""
    answer = await _ask(call, setup, "POST", _values(arguments.spreadsheet_id, arguments.range, ":clear"), body={})
    return GOOGLE.read(answer, Cleared)


@provider.method(contract=READ, retry_on=(500, 502))
async def batch_read(arguments: BatchRead, setup: Setup, call: Call) -> ManyValues:
    """Read the cells of several ranges."""
    options = {**arguments.options(), "ranges": arguments.ranges}
    answer = await _ask(
        call, setup, "GET", f"/v4/spreadsheets/{arguments.spreadsheet_id}/values:batchGet", options=options
    )
    return GOOGLE.read(answer, ManyValues)


@provider.method(contract=PUT, retry_on=(500, 502))
async def batch_write(arguments: BatchWrite, setup: Setup, call: Call) -> ManyUpdated:
    """Write values into several ranges."""
    body = {
        "valueInputOption": arguments.value_input_option,
        "includeValuesInResponse": arguments.include_values_in_response,
        "data": [
            {"range": block.range, "majorDimension": block.major_dimension, "values": block.values}
            for block in arguments.data
        ],
    }
    path = f"/v4/spreadsheets/{arguments.spreadsheet_id}/values:batchUpdate"
    answer = await _ask(call, setup, "POST", path, body=body)
    total = GOOGLE.read(answer, ManyUpdated)
    responses = [_updated(one) for one in GOOGLE.read(answer, ManyUpdates).responses]
    return total.model_copy(update={"responses": responses})


async def _ask(
    call: Call,
    setup: Setup,
    method: str,
    path: str,
    *,
    options: Mapping[str, object] | None = None,
    body: Mapping[str, object] | None = None,
) -> httpx.Response:
    account = setup.account()
    bearer, was_at_hand = await token(account, SCOPE, call)
    try:
        return await GOOGLE.answer(
            call.request(
                method,
                f"{setup.base_url}{path}",
                params=options,
                headers={"authorization": f"Bearer {bearer}"},
                json=to_jsonable_python(body),
            )
        )
    except ToolFailed as failure:
        status = failure.response.status_code if failure.response is not None else None
        if status is not None and httpx.codes.is_client_error(status):
            failure.has_effect = False  # that there were two requests says nothing: the first fetched the token
        if status == httpx.codes.UNAUTHORIZED:
            forget(account, SCOPE, call)
            failure.retryable = was_at_hand  # another one may be taken
        raise


def _values(spreadsheet_id: str, cells: str, verb: str = "") -> str:
    return f"/v4/spreadsheets/{spreadsheet_id}/values/{quote(cells, safe='')}{verb}"


def _input(arguments: Writing) -> dict[str, str]:
    return {
        "valueInputOption": arguments.value_input_option,
        "includeValuesInResponse": str(arguments.include_values_in_response).lower(),
    }


def _updated(found: Update) -> Updated:
    values = found.updated_data.values if found.updated_data is not None else None
    return Updated(**found.model_dump(exclude={"updated_data", "updated_values"}), updated_values=values)
