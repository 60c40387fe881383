"""Errors of nats-py and of JetStream, translated into the tree of `toolbus_contracts.errors`."""

from collections.abc import Mapping
from typing import Any

from nats import errors as core
from nats.js import errors as stream

from toolbus_contracts.errors import BusRefused, ToolbusError, Unavailable

AWAY: frozenset[type[Exception]] = frozenset(
    {
        core.AuthorizationError,
        core.ConnectionClosedError,
        core.ConnectionDrainingError,
        core.ConnectionReconnectingError,
        core.DrainTimeoutError,
        core.Error,
        core.FlushTimeoutError,
        core.InvalidUserCredentialsError,
        core.NoRespondersError,
        core.NoServersError,
        core.OutboundBufferLimitError,
        core.ProtocolError,
        core.SecureConnFailedError,
        core.SecureConnRequiredError,
        core.SecureConnWantedError,
        core.ServerNotInPoolError,
        core.SlowConsumerError,
        core.StaleConnectionError,
        core.TimeoutError,
        core.UnexpectedEOF,
        stream.ConsumerSequenceMismatchError,
        stream.Error,
        stream.FetchTimeoutError,
        stream.NoStreamResponseError,
        stream.ServerError,
        stream.ServiceUnavailableError,
        stream.TooManyStalledMsgsError,
    }
)
NOT_TAKEN: frozenset[type[Exception]] = frozenset(
    {
        core.BadHeaderError,
        core.BadSubjectError,
        core.BadSubscriptionError,
        core.BadTimeoutError,
        core.InvalidCallbackTypeError,
        core.JsonParseError,
        core.MaxPayloadError,
        core.MsgAlreadyAckdError,
        core.NotJSMessageError,
        stream.APIError,
        stream.BadBucketError,
        stream.BadObjectMetaError,
        stream.BadRequestError,
        stream.BucketNotFoundError,
        stream.ConsumerInvalidResetError,
        stream.DigestMismatchError,
        stream.InvalidBucketNameError,
        stream.InvalidKeyError,
        stream.InvalidObjectNameError,
        stream.KeyDeletedError,
        stream.KeyHistoryTooLargeError,
        stream.KeyNotFoundError,
        stream.KeyValueError,
        stream.KeyValueLimitMarkerTTLNotSupportedError,
        stream.KeyWrongLastSequenceError,
        stream.LinkIsABucketError,
        stream.NoKeysError,
        stream.NotFoundError,
        stream.ObjectAlreadyExists,
        stream.ObjectDeletedError,
        stream.ObjectNotFoundError,
    }
)
NATS_ERRORS = (core.Error, OSError, RuntimeError)  # the last is what uvloop says of a connection that it has closed


def translated(error: Exception) -> ToolbusError:
    """The error of our tree that says what this error of the library means to a caller."""
    text = str(error).removeprefix("nats: ")
    if type(error) in NOT_TAKEN:
        return BusRefused(text)
    return Unavailable(text)


def api_error(answer: Mapping[str, Any]) -> ToolbusError:
    """
    The error of our tree for an error that JetStream answered with.

    Server faults (5xx, a full stream among them) pass; a request that is wrong stays wrong.
    """
    text = str(answer.get("description", "no description"))
    if int(answer.get("code", 500)) >= 500:  # noqa: PLR2004 - the HTTP-like classes of JetStream
        return Unavailable(text)
    return BusRefused(text, reply_status=int(answer["code"]), error_number=int(answer.get("err_code", 0)))
