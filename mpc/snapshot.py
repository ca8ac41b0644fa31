"""The state of a controller as bytes, so that a restart does not forget what was learned.

A pickle that names nothing but the classes of `mpc`, of `forecasting` and of the distributions that
add policies or forecasters, the power models, arrays, random generators and plain containers. That
keeps a snapshot from holding what does not belong in
one; whose file it is and whether it is whole is checked by whoever reads the file.
"""

import io
import pickle
import re
from functools import cache
from typing import Any

from forecasting.catalogue import third_party_forecasters
from mpc.policies.catalogue import third_party_policies

PROTOCOL = 4
PACKAGES = ("mpc", "forecasting")
MODULES = ("energy.power", "energy.calibration", "energy.online_power")
"""Of `energy` only the models: what reads and writes the files of a host has no place here."""

_NAMES: dict[str, frozenset[str]] = {
    "builtins": frozenset({"int", "float", "list", "dict", "set", "frozenset", "range"}),
    "collections": frozenset({"Counter", "OrderedDict", "defaultdict", "deque"}),
    "numpy": frozenset({"dtype", "ndarray"}),
    "numpy._core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy.random._mt19937": frozenset({"MT19937"}),
    "numpy.random._pcg64": frozenset({"PCG64", "PCG64DXSM"}),
    "numpy.random._philox": frozenset({"Philox"}),
    "numpy.random._pickle": frozenset({"__bit_generator_ctor", "__generator_ctor"}),
    "numpy.random._sfc64": frozenset({"SFC64"}),
    "numpy.random.bit_generator": frozenset({"SeedSequence", "__pyx_unpickle_SeedSequence"}),
}
"""What arrays, generators and containers are pickled with."""


class SnapshotRefused(Exception):
    """Bytes that are no snapshot, or a policy that cannot become one; says what is wrong."""


def save(learned: object) -> bytes:
    """Raises `SnapshotRefused` for an object that keeps what a snapshot may not hold."""
    try:
        data = pickle.dumps(learned, PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise SnapshotRefused(f"the policy cannot be saved: {error}") from error
    load(data)  # what cannot be read is noticed now, not after a restart
    return data


def load(data: bytes) -> Any:
    """What was saved. Raises `SnapshotRefused` for anything else."""
    try:
        learned: object = _Reader(io.BytesIO(data)).load()
    except SnapshotRefused:
        raise
    except Exception as error:  # a torn stream can fail in any way
        raise SnapshotRefused(f"not a snapshot: {type(error).__name__}: {error}") from error
    if not _is_admitted(type(learned).__module__):
        raise SnapshotRefused(f"not a snapshot: {type(learned).__name__}")
    return learned


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _NAMES.get(module, ()):
            return super().find_class(module, name)
        if _is_admitted(module):
            found = super().find_class(module, name)
            # Not what the module imported, no function of it, nothing inside a class.
            if isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name):
                return found
        raise SnapshotRefused(f"a snapshot may not hold {module}.{name}")


def _is_admitted(module: str) -> bool:
    return module in MODULES or module.split(".", 1)[0] in _packages()


@cache
def _packages() -> frozenset[str]:
    places = (
        *(entry.builder for entry in third_party_policies().usable),
        *(entry.model for entry in third_party_forecasters().usable),
    )
    return frozenset((*PACKAGES, *(re.split("[.:]", place)[0] for place in places)))
