"""How options are declared: annotated fields of `Options` whose defaults are `option(...)`s.

`latency_ms: float = option(1000.0, "Latency that is not to be exceeded.", "ms", gt=0)` is a field
of a msgspec struct with the type `Annotated[float, Meta(...)]`. Whatever reads a schema finds the
limits and the words there. Also here: usual types, and the form of a rule between several options.
Without numpy: reading a configuration must not import what decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import NoneType
from typing import Annotated, Any, TypeVar, cast, dataclass_transform, get_args

from msgspec import Meta, Struct, StructMeta, field

Value = TypeVar("Value")

DAY_S = 86_400.0

SecondsInADay = Annotated[float, Meta(ge=0, le=DAY_S, extra={"unit": "s"})]
PositiveSecondsInADay = Annotated[float, Meta(gt=0, le=DAY_S, extra={"unit": "s"})]
SecondsInAnHour = Annotated[float, Meta(ge=0, le=3600, extra={"unit": "s"})]
PositiveSecondsInAnHour = Annotated[float, Meta(gt=0, le=3600, extra={"unit": "s"})]
Milliseconds = Annotated[float, Meta(gt=0, extra={"unit": "ms"})]
Share = Annotated[float, Meta(ge=0, le=1)]
PositiveShare = Annotated[float, Meta(gt=0, le=1)]
Positive = Annotated[float, Meta(gt=0)]
Executors = Annotated[int, Meta(ge=1, le=1000, extra={"unit": "executors"})]
# 10 MHz to 10 GHz: a value in Hz or MHz by mistake falls outside.
FrequencyKhz = Annotated[int, Meta(ge=10_000, le=10_000_000)]
Port = Annotated[int, Meta(ge=0, le=65535)]
AnyPath = Annotated[str, Meta(min_length=1, max_length=1024, extra={"kind": "a path"})]
AbsolutePath = Annotated[
    str, Meta(pattern=r"^/[^\x00]*$", max_length=1024, extra={"kind": "an absolute path"})
]

# What several policies mean by the same.
Discount = Annotated[
    float,
    Meta(ge=0, le=0.999, description="Weight of a cost one step later, relative to the same now."),
]
ResourceWeight = Annotated[
    float,
    Meta(
        ge=0,
        le=1_000_000,
        description="Cost of running all executors for one step. Only the ratio of the weights "
        "matters.",
    ),
]
ReconfigurationWeight = Annotated[
    float,
    Meta(
        ge=0,
        le=1_000_000,
        description="Cost of changing the number of executors. Only the ratio of the weights "
        "matters.",
    ),
]

Key = tuple[str, ...]
Contradiction = tuple[tuple[Key, str], ...]
"""Options in conflict, the likeliest culprit first, each with what it must be."""


@dataclass(frozen=True, slots=True)
class _Declaration:
    default: object
    name: str | None
    meta: Meta


def option(
    default: Value,
    description: str,
    unit: str | None = None,
    *,
    name: str | None = None,
    kind: str | None = None,
    allowed: str | None = None,
    absent: str | None = None,
    example: object = None,
    **limits: Any,
) -> Value:
    """One option, with the `limits` of `msgspec.Meta`: `gt`, `ge`, `lt`, `le`, `max_length`, ...

    `name` is its key where that differs from the field. Text with a pattern has `allowed`, the
    names it takes, or `kind`, what it is ("a path"). An option that is None by default has
    `absent`, what it means to leave it out, and `example`, a value to show.
    """
    words = {"unit": unit, "kind": kind, "allowed": allowed, "absent": absent, "example": example}
    extra = {word: value for word, value in words.items() if value is not None}
    meta = Meta(description=description, extra=extra or None, **limits)
    return cast(Value, _Declaration(default, name, meta))


class _OptionsMeta(StructMeta):
    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **settings: Any
    ) -> "_OptionsMeta":
        declared = {key: each for key, each in namespace.items() if isinstance(each, _Declaration)}
        fields = {
            key: field(default=each.default, name=each.name) for key, each in declared.items()
        }
        made = super().__new__(mcls, name, bases, namespace | fields, **settings)
        # msgspec reads the types when the struct is first used.
        for key, each in declared.items():
            made.__annotations__[key] = _described(made.__annotations__[key], each.meta)
        return made


def _described(kind: Any, meta: Meta) -> Any:
    """The limits are those of the value, if there is one."""
    if NoneType not in get_args(kind):
        return Annotated[kind, meta]
    (given,) = (part for part in get_args(kind) if part is not NoneType)
    return Annotated[given, meta] | None


@dataclass_transform(frozen_default=True)
class Options(Struct, metaclass=_OptionsMeta, frozen=True, forbid_unknown_fields=True):
    """A table of a configuration; every field has a default."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a rule between options may refer to besides the options themselves."""

    policy: str
    """Name of the policy that the options belong to."""
    latency_ms: float
    """The target."""
    min_executors: int
    max_executors: int

    def key(self, option: str) -> Key:
        return ("policies", self.policy, option)


def ascending(surroundings: Surroundings, **options: float) -> Iterator[Contradiction]:
    """The named options must not descend, in the order they are given."""
    named = [(surroundings.key(name), value) for name, value in options.items()]
    for (low_key, low), (high_key, high) in pairwise(named):
        if low > high:
            yield at_most(low_key, low, high_key, high)


def at_most(low_key: Key, low: float, high_key: Key, high: float) -> Contradiction:
    return (
        (low_key, f"must be at most {'.'.join(high_key)} = {high:g}"),
        (high_key, f"must be at least {'.'.join(low_key)} = {low:g}"),
    )
