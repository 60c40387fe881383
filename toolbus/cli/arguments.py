"""Reading JSON that people give on the command line."""

import sys
from pathlib import Path

import typer

from toolbus_contracts.errors import Unreadable
from toolbus_contracts.values import Json, parse_json


def read_arguments(args: str | None, arg: list[str] | None) -> dict[str, Json]:
    """
    Put the arguments together: --args first, each --arg over it.

    Raises:
        Unreadable: they are not one JSON object.
    """
    found = read_object(args, "--args")
    for text in arg or ():
        name, mark, value = text.partition("=")
        if not mark or name in {"", ":"}:
            raise typer.BadParameter(f"{text!r} is neither NAME=TEXT nor NAME:=JSON", param_hint="--arg")
        is_json = name.endswith(":")
        found[name.removesuffix(":")] = parsed(value.encode(), f"--arg {name}") if is_json else value
    return found


def read_object(text: str | None, option: str) -> dict[str, Json]:
    """
    Read the object that an option gives as text, in a file (`@PATH`) or on stdin (`-`); empty without the option.

    Raises:
        Unreadable: it is not one JSON object.
    """
    found: Json = {} if text is None else parsed(_source(text), option)
    if not isinstance(found, dict):
        raise Unreadable("invalid_request", f"{option} is not a JSON object")
    return found


def _source(args: str) -> bytes:
    if args == "-":
        return sys.stdin.buffer.read()
    if not args.startswith("@"):
        return args.encode("utf-8", "surrogateescape")
    try:
        return Path(args[1:]).read_bytes()
    except OSError as error:
        raise Unreadable("invalid_request", f"{args[1:]} cannot be read: {error.strerror}") from error


def parsed(raw: bytes, where: str) -> Json:
    """
    One JSON value.

    Raises:
        Unreadable: it is not; the message says where it stood.
    """
    try:
        return parse_json(raw)
    except Unreadable as error:
        raise Unreadable(error.code, f"{where}: {error.message}", error.faults) from error


def json_option(text: str | None, option: str) -> Json:
    """The value of an option that takes JSON; nothing when it was not given."""
    return None if text is None else parsed(text.encode("utf-8", "surrogateescape"), option)
