"""What the process of a provider says, read as strictly as anything from outside: any code may run in there."""

from pydantic import ValidationError

from toolbus_contracts.errors import Unreadable
from toolbus_contracts.values import parse_json
from toolbus_integrations.host.messages import FROM_HOST, FromHost


def heard(body: bytes) -> FromHost:
    """
    The message that a frame holds; whatever is in it can be stored.

    Raises:
        Unreadable: it is no strict JSON (NaN, NUL, half of a surrogate pair, an integer beyond 2^53, a key twice, more
            than 64 levels), or none of the messages.
    """
    try:
        return FROM_HOST.validate_python(parse_json(body))
    except ValidationError as error:
        raise Unreadable("invalid_request", f"no message of a host: {error.error_count()} faults") from error
