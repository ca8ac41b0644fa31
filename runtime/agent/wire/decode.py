"""Turns the body of a request into its struct, or refuses it by code, field, value and range.

msgspec holds the types and ranges of `runtime.agent.wire.messages`; here its complaints become
words that a person can act on, and the one thing it lets pass, a key given twice, is refused.
"""

import json
import re
from typing import NoReturn, TypeVar

import msgspec
from msgspec import inspect

from runtime.agent.wire.messages import Request
from runtime.agent.wire.refusals import Refused

LARGEST_BODY = 16 * 1024
_LONGEST_NAME = 64

_PLACE = re.compile(r"^(?P<what>.*) - at `\$\.(?P<field>\w+)(?P<item>\[\d+\])?.*`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(\w+)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)

AnyRequest = TypeVar("AnyRequest", bound=Request)


def decode(body: bytes, kind: type[AnyRequest]) -> AnyRequest:
    """The request of a body; raises `Refused` with bad_request, bad_field or too_large."""
    if len(body) > LARGEST_BODY:
        raise too_large(len(body))
    try:
        request = msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        _refuse(str(error), body, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused("bad_request", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise Refused("bad_request", "the body is nested too deeply") from None
    _refuse_duplicates(body)
    return request


def too_large(size: int) -> Refused:
    return Refused(
        "too_large", "the body is too large", "body", size, f"at most {LARGEST_BODY} bytes"
    )


def allowed_words(kind: type[Request], field: str) -> str:
    """The range of a field in words, from its declaration."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return next(_words(each.type) for each in info.fields if each.name == field)


def _words(kind: inspect.Type) -> str:
    match kind:
        case inspect.IntType(ge=low, le=high):
            return f"an integer from {low} to {high}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType(pattern=pattern):
            return f"text matching {pattern}"
        case inspect.VarTupleType(item_type=item, min_length=low, max_length=high):
            return f"a list of {low} to {high}, each {_words(item)}"
        case inspect.UnionType(types=types):
            return " or ".join(_words(each) for each in types)
        case inspect.NoneType():
            return "null"
    raise TypeError(f"no words for {kind}")


class _AsSent(str):
    """Text of the caller's JSON, shown as it came and not quoted once more."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _refuse(complaint: str, body: bytes, kind: type[Request]) -> NoReturn:
    names = ", ".join(each.name for each in msgspec.structs.fields(kind))
    if found := _MISSING.match(complaint):
        field = found[1]
        raise Refused(
            "bad_field", f"{field} is missing", field, allowed=allowed_words(kind, field)
        ) from None
    if found := _UNKNOWN.match(complaint):
        field = found[1][:_LONGEST_NAME]
        raise Refused("bad_field", "the field is unknown", field, allowed=f"only {names}") from None
    if found := _PLACE.match(complaint):
        field, item = found["field"], found["item"] or ""
        raise Refused(
            "bad_field",
            f"{field}{item}: {found['what']}",
            f"{field}{item}",
            _value(body, field, item),
            allowed_words(kind, field),
        ) from None
    raise Refused("bad_request", f"the body must be an object: {complaint}") from None


def _value(body: bytes, field: str, item: str) -> _AsSent | None:
    """What the caller wrote there; None when the rest of the body is no JSON."""
    try:
        value = msgspec.json.decode(body, type=dict[str, msgspec.Raw])[field]
        if item:
            value = msgspec.json.decode(value, type=list[msgspec.Raw])[int(item[1:-1])]
        return _AsSent(bytes(value).decode())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LookupError):
        return None


def _refuse_duplicates(body: bytes) -> None:
    """Two readers of `{"max_khz": 1, "max_khz": 2}` may disagree, so nobody gets to read it."""
    pairs: list[tuple[str, object]] = []
    json.loads(body, object_pairs_hook=pairs.extend)
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise Refused("bad_field", f"{name} is given twice", name, allowed="each field once")
