"""The state of a policy as bytes, so that a restart does not forget what was learned.

A restricted pickle. It holds instances of the classes of `mpc`, of `forecasting` and of the
distributions that add policies or forecasters, the power models, arrays, random generators and
plain containers. Reading runs no constructor but those of option structs and calls no function but
the few named here: what else a file may ask for, it is refused.
"""

import importlib
import io
import pickle
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from msgspec import Struct

from forecasting.catalogue import third_party_forecasters
from mpc.policies.catalogue import third_party_policies
from mpc.ports import Policy
from mpc.values import FloatArray

PROTOCOL = 4
PACKAGES = ("mpc", "forecasting")
MODULES = ("energy.power", "energy.calibration")
"""Of `energy` only the models: what reads and writes the files of a host has no place here."""

_NUMBERS = "biuf"
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")


class SnapshotRefused(Exception):
    """Bytes that are no snapshot, or a policy that cannot become one; says what is wrong."""


def save(policy: Policy) -> bytes:
    """Raises `SnapshotRefused` for a policy that keeps what a snapshot may not hold."""
    written = io.BytesIO()
    try:
        _Writer(written, PROTOCOL).dump(policy)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise SnapshotRefused(f"the policy cannot be saved: {error}") from error
    return written.getvalue()


def load(data: bytes) -> Policy:
    """The policy of a snapshot. Raises `SnapshotRefused` for anything else."""
    try:
        policy = _Reader(io.BytesIO(data)).load()
    except SnapshotRefused:
        raise
    except Exception as error:  # a torn or a forged stream can fail in any way
        raise SnapshotRefused(f"not a snapshot: {type(error).__name__}: {error}") from error
    if not _is_ours(type(policy)) or not hasattr(type(policy), "decide"):
        raise SnapshotRefused(f"not a policy: {type(policy).__name__}")
    restored: Policy = policy
    return restored


def restored_array(
    kind: str, shape: tuple[int, ...], order: Literal["C", "F"], data: bytes
) -> FloatArray:
    array: FloatArray = np.frombuffer(data, _number(kind)).reshape(shape, order=order)
    return array.copy(order)  # a buffer cannot be written to


def restored_scalar(kind: str, data: bytes) -> object:
    (scalar,) = np.frombuffer(data, _number(kind))
    return scalar


def restored_generator(
    name: str, state: dict[str, Any], seed: dict[str, Any]
) -> np.random.Generator:
    if name not in _BIT_GENERATORS:
        raise SnapshotRefused(f"no such random generator: {name!r}")
    bits: np.random.BitGenerator = getattr(np.random, name)(np.random.SeedSequence(**seed))
    bits.state = state
    return np.random.Generator(bits)


_CALLED: tuple[Callable[..., object], ...] = (
    restored_array,
    restored_scalar,
    restored_generator,
    Counter,
    OrderedDict,
    defaultdict,
    deque,
    range,
)
_NAMED: tuple[Callable[..., object], ...] = (int, float, list, dict, set)
"""What a defaultdict may make; never called while reading."""
_KNOWN = {(found.__module__, found.__qualname__): found for found in (*_CALLED, *_NAMED)}


class _Writer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        """Arrays and generators in a form of our own: numpy's own would need its internals."""
        if type(value) is np.ndarray and value.dtype.kind in _NUMBERS:
            by_column = value.flags.f_contiguous and not value.flags.c_contiguous
            order: Literal["C", "F"] = "F" if by_column else "C"
            return restored_array, (value.dtype.str, value.shape, order, value.tobytes(order))
        if isinstance(value, np.generic) and value.dtype.kind in _NUMBERS:
            return restored_scalar, (value.dtype.str, value.tobytes())
        if type(value) is np.random.Generator:
            bits = value.bit_generator
            return restored_generator, (type(bits).__name__, bits.state, _seed(bits))
        kind = value if isinstance(value, type) else type(value)
        if not (_is_ours(kind) or _is_one_of(_KNOWN.values(), kind, value)):
            raise SnapshotRefused(f"a snapshot may not hold {_words(value)}")
        return NotImplemented


def _refuse(_: object) -> NoReturn:
    raise SnapshotRefused("not a snapshot: an instruction that none has")


_UNUSED = (
    pickle.INST,
    pickle.OBJ,
    pickle.NEWOBJ_EX,
    pickle.EXT1,
    pickle.EXT2,
    pickle.EXT4,
    pickle.PERSID,
    pickle.BINPERSID,
)
"""Further ways to call or to find something, which `save` never writes."""


class _Reader(pickle._Unpickler):
    """In Python, because its steps can be watched there: the faster one of C lets a stream set
    attributes of classes and call their constructors."""

    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        known = _KNOWN.get((module, name))
        if known is not None:
            return known
        if _admitted(module):
            found = getattr(importlib.import_module(module), name, None)
            # Not what the module imported, no function of it, nothing inside a class.
            if isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name):
                return found
        raise SnapshotRefused(f"a snapshot may not hold {module}.{name}")

    def load_reduce(self) -> None:
        function = self.stack[-2]
        plain = isinstance(function, type) and issubclass(function, Enum | Struct)
        if not plain and not _is_one_of(_CALLED, function):
            raise SnapshotRefused(f"a snapshot may not call {_words(function)}")
        _STEPS[pickle.REDUCE[0]](self)

    def load_build(self) -> None:
        target = self.stack[-2]
        if isinstance(target, type) or not _is_ours(type(target)):
            raise SnapshotRefused(f"a snapshot may not change {_words(target)}")
        _STEPS[pickle.BUILD[0]](self)

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **pickle._Unpickler.dispatch,
        pickle.REDUCE[0]: load_reduce,
        pickle.BUILD[0]: load_build,
        **dict.fromkeys((code[0] for code in _UNUSED), _refuse),
    }


_STEPS: Mapping[int, Callable[[Any], None]] = pickle._Unpickler.dispatch


def _admitted(module: str) -> bool:
    return module in MODULES or module.split(".", 1)[0] in _packages()


@cache
def _packages() -> frozenset[str]:
    places = (
        *(entry.builder for entry in third_party_policies().usable),
        *(entry.model for entry in third_party_forecasters().usable),
    )
    return frozenset((*PACKAGES, *(re.split("[.:]", place)[0] for place in places)))


def _is_ours(kind: type) -> bool:
    return (
        _admitted(kind.__module__)
        and getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind
    )


def _is_one_of(known: Iterable[object], *values: object) -> bool:
    return any(value is candidate for candidate in known for value in values)


def _number(kind: str) -> np.dtype[Any]:
    dtype = np.dtype(kind)
    if dtype.kind not in _NUMBERS:
        raise SnapshotRefused(f"no array of numbers: {kind!r}")
    return dtype


def _seed(bits: np.random.BitGenerator) -> dict[str, Any]:
    """What children of the generator will be drawn from."""
    seed = bits.seed_seq
    if not isinstance(seed, np.random.SeedSequence):
        return {}
    return {
        "entropy": seed.entropy,
        "spawn_key": seed.spawn_key,
        "pool_size": seed.pool_size,
        "n_children_spawned": seed.n_children_spawned,
    }


def _words(value: object) -> str:
    named = value if isinstance(value, type) or callable(value) else type(value)
    module = getattr(named, "__module__", None) or type(value).__module__
    return f"{module}.{getattr(named, '__qualname__', type(value).__qualname__)}"
