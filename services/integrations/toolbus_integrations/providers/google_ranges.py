"""What is read from spreadsheets and written into them: the models of Google Sheets."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator
from pydantic.alias_generators import to_snake

from toolbus_integrations.providers.vendor import Closed

Cell = str | int | float | bool | None
Rows = list[list[Cell]]
Range = Annotated[str, Field(min_length=1, description="In A1 notation, for example Sheet1!A1:C10.")]
SpreadsheetId = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_-]+$", description="The long part of the spreadsheet's address.")
]
Dimension = Literal["ROWS", "COLUMNS"]


class Reading(Closed):
    """How cells are read: as they look, as they are, or as they are computed; dates as text or as numbers."""

    spreadsheet_id: SpreadsheetId
    major_dimension: Dimension = "ROWS"
    value_render_option: Literal["FORMATTED_VALUE", "UNFORMATTED_VALUE", "FORMULA"] = "FORMATTED_VALUE"
    date_time_render_option: Literal["FORMATTED_STRING", "SERIAL_NUMBER"] = "FORMATTED_STRING"

    def options(self) -> dict[str, str]:
        """As the API takes them."""
        return {
            "majorDimension": self.major_dimension,
            "valueRenderOption": self.value_render_option,
            "dateTimeRenderOption": self.date_time_render_option,
        }


class Read(Reading):
    """The cells to read."""

    range: Range


class BatchRead(Reading):
    """The cells to read, in several ranges."""

    ranges: list[Range] = Field(min_length=1)


class Writing(Closed):
    """How values are taken: as if a person typed them (formulas and dates are understood), or as they are."""

    spreadsheet_id: SpreadsheetId
    value_input_option: Literal["USER_ENTERED", "RAW"] = "USER_ENTERED"
    include_values_in_response: bool = False


class Write(Writing):
    """The values and where they go. What stands there is overwritten; there is no other way to write to a range."""

    range: Range
    values: Rows
    insert_data_option: Literal["OVERWRITE"] = "OVERWRITE"


class Append(Writing):
    """The rows that follow the table found in the range, in new rows or over what stands behind it."""

    range: Range
    values: Rows
    insert_data_option: Literal["INSERT_ROWS", "OVERWRITE"] = "INSERT_ROWS"


class Block(Closed):
    """Values and where they go."""

    range: Range
    values: Rows
    major_dimension: Dimension = "ROWS"


class BatchWrite(Writing):
    """Values for several ranges, all written or none."""

    data: list[Block] = Field(min_length=1)


class Clear(Closed):
    """The cells to empty; how they look stays."""

    spreadsheet_id: SpreadsheetId
    range: Range


class _Answer(BaseModel):
    """What Google calls `updatedRange` is `updated_range` here."""

    @model_validator(mode="before")
    @classmethod
    def _is_named_as_here(cls, given: object) -> object:
        return {to_snake(name): value for name, value in given.items()} if isinstance(given, dict) else given


class Values(_Answer):
    """Cells, without empty ones at the ends of rows and of the range."""

    range: str
    major_dimension: str = "ROWS"
    values: Rows = []


class Updated(_Answer):
    """What was written; with the values as they stand now, if they were asked for."""

    spreadsheet_id: str
    updated_range: str
    updated_rows: int = 0
    updated_columns: int = 0
    updated_cells: int = 0
    updated_values: Rows | None = None


class Cleared(_Answer):
    """The cells that are empty now."""

    spreadsheet_id: str
    cleared_range: str


class ManyValues(_Answer):
    """Cells of each range, in the order they were asked for."""

    spreadsheet_id: str
    value_ranges: list[Values]


class ManyUpdated(_Answer):
    """What was written, in all and by range."""

    spreadsheet_id: str
    total_updated_sheets: int = 0
    total_updated_rows: int = 0
    total_updated_columns: int = 0
    total_updated_cells: int = 0
    responses: list[Updated] = []


class Update(Updated):
    """As Google tells it: the values stand one level deeper."""

    updated_data: Values | None = None


class Appended(_Answer):
    """As Google tells of an append: next to what stood there before."""

    updates: Update


class ManyUpdates(_Answer):
    """The updates of a batch, as Google tells them."""

    responses: list[Update] = []
