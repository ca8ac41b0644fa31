"""The schema as a flat list of options, with the words that describe each one.

Everything here is read from the structs of a schema; nothing is declared a second time.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import msgspec
from msgspec import inspect

_SCALAR = inspect.IntType | inspect.FloatType


@dataclass(frozen=True, slots=True)
class Option:
    """One key of the configuration."""

    key: tuple[str, ...]
    type: object
    default: object
    noun: str
    """What a value is: "an integer", "one of a, b"."""
    bounds: str
    """The range of a number in words: "between 1 and 60"; empty for anything else."""
    description: str
    unit: str | None
    absent: str | None
    """What it means to leave an option without a default out."""
    example: object

    @property
    def allowed(self) -> str:
        joint = " of " if self.bounds.startswith("at ") else " "
        return f"{self.noun}{joint}{self.bounds}".rstrip()

    def mistake(self, value: object) -> str | None:
        """What the value must be, or None when it is good."""
        if isinstance(value, float) and not math.isfinite(value):
            return "must be a finite number"
        try:
            msgspec.convert(value, self.type)
        except msgspec.ValidationError as error:
            # msgspec names a broken type "Expected `int`, got `str`", a broken range without "got".
            wrong_type = not self.bounds or ", got " in str(error)
            return f"must be {self.allowed if wrong_type else self.bounds}"
        return None


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the file; the first one has no name and holds the keys above every table."""

    name: str
    """As between the brackets: "cost", "policies.ds2"."""
    description: str
    options: tuple[Option, ...]


@cache
def sections(schema: type[msgspec.Struct]) -> tuple[Section, ...]:
    """Every section in the order of the schema, with its options; a table before those in it."""
    return tuple(_sections(schema, ()))


def _sections(schema: type[msgspec.Struct], key: tuple[str, ...]) -> Iterator[Section]:
    fields = msgspec.structs.fields(schema)
    tables = [field for field in fields if isinstance(field.default, msgspec.Struct)]
    own = tuple(
        _option((*key, field.encode_name), field) for field in fields if field not in tables
    )
    yield Section(".".join(key), _first_line(schema.__doc__), own)
    for table in tables:
        yield from _sections(type(table.default), (*key, table.encode_name))


@cache
def options(schema: type[msgspec.Struct]) -> dict[tuple[str, ...], Option]:
    """Every option by its key."""
    return {option.key: option for section in sections(schema) for option in section.options}


def _option(key: tuple[str, ...], field: msgspec.structs.FieldInfo) -> Option:
    info = inspect.type_info(field.type)
    if isinstance(info, inspect.UnionType):
        info = next(part for part in info.types if not isinstance(part, inspect.NoneType))
    if not isinstance(info, inspect.Metadata):
        raise TypeError(f"option {'.'.join(key)} has no description")
    extra = info.extra or {}
    noun, bounds = _words(info.type, extra)
    return Option(
        key=key,
        type=field.type,
        default=field.default,
        noun=noun,
        bounds=bounds,
        description=(info.extra_json_schema or {})["description"],
        unit=extra.get("unit"),
        absent=extra.get("absent"),
        example=extra.get("example"),
    )


def _words(info: inspect.Type, extra: dict[str, str]) -> tuple[str, str]:
    if "kind" in extra:
        return extra["kind"], ""
    if isinstance(info, inspect.BoolType):
        return "true or false", ""
    if isinstance(info, inspect.LiteralType):
        return f"one of {', '.join(str(value) for value in info.values)}", ""
    if isinstance(info, inspect.IntType):
        return "an integer", _bounds(info)
    if isinstance(info, inspect.FloatType):
        return "a number", _bounds(info)
    if isinstance(info, inspect.VarTupleType) and isinstance(info.item_type, inspect.IntType):
        words = f"a list of {info.min_length} to {info.max_length} integers"
        return f"{words} {_bounds(info.item_type)}", ""
    if isinstance(info, inspect.StrType) and "allowed" in extra:
        return f"one of {extra['allowed']}", ""
    raise TypeError(f"no words for the option type {info!r}")


def _bounds(info: _SCALAR) -> str:
    if info.ge is not None and info.le is not None:
        return f"between {info.ge} and {info.le}"
    words = [
        f"{word} {limit}"
        for word, limit in (
            ("greater than", info.gt),
            ("at least", info.ge),
            ("less than", info.lt),
            ("at most", info.le),
        )
        if limit is not None
    ]
    return " and ".join(words)


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().split("\n")[0]
