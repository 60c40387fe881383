"""Why a submitted call is refused, where the paths are those of the request itself and not of its tool."""

from typing import Final

from toolbus_contracts.calls import Detail
from toolbus_contracts.errors import Refused

NOT_YOURS: Final = "it is not whom the key stands for, nor among its contexts"


class Faulty(Refused):
    """Something in the request is wrong; `details` names each fault."""

    def __init__(self, code: str, message: str, details: tuple[Detail, ...]) -> None:
        super().__init__(code, message)
        self.details = details


class InvalidArguments(Faulty):
    """The arguments do not fit the schema."""

    def __init__(self, tool: str, details: tuple[Detail, ...]) -> None:
        super().__init__("invalid_arguments", f"the arguments do not fit {tool}: {details[0].message}", details)


class InvalidSetup(Faulty):
    """What is stored for the call does not do as the setup of its tool."""

    def __init__(self, details: tuple[Detail, ...]) -> None:
        super().__init__("setup_invalid", f"{details[0].path} is stored for this tool: {details[0].message}", details)


class InvalidQuestion(Faulty):
    """The submitter's own `ask_user` or `approval` cannot be answered."""

    def __init__(self, message: str, details: tuple[Detail, ...]) -> None:
        super().__init__("invalid_request", message, details)


class ForeignContext(Faulty):
    """The key may not use what is stored for whoever the context names."""

    def __init__(self, named: tuple[tuple[str, str], ...]) -> None:
        level, level_id = named[0]
        details = tuple(Detail(path=f"/context/{one}", message=NOT_YOURS) for one, _ in named)
        super().__init__("forbidden", f"this key may not name the {level} {level_id}: {NOT_YOURS}", details)
