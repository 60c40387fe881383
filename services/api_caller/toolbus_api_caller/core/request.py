"""The request of a work item, once it is sure that its answer can be judged."""

from collections.abc import Mapping

from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.executing.schemas import compiled
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.requests.request import NO_SECRETS, NOTHING, HttpRequest, http_request
from toolbus_contracts.work import WorkItem


def build_request(
    item: WorkItem, *, user_agent: str, secrets: Mapping[str, Secret] = NO_SECRETS, redactor: Redactor = NOTHING
) -> HttpRequest:
    """
    The request that a work item stands for; payloads in its arguments are resolved already, and its secrets.

    Raises:
        Refused: `request_invalid` or `secret_not_allowed`; nothing may be sent.
    """
    request = http_request(item, user_agent=user_agent, secrets=secrets, redactor=redactor)
    section = item.definition.api_call
    if section is not None and section.response_schema is not None:
        compiled(section.response_schema)  # a schema that is none must not be found out after the effect
    return request
