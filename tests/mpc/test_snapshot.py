"""A snapshot brings back what was saved, and reading one runs nothing that was not meant to run."""

import os
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from energy.tree import FolderTree
from forecasting.mixture import Mixture
from mpc.bounds import Bounds
from mpc.policies.fixed import FixedPolicy
from mpc.policies.routing import rebalanced
from mpc.policies.rule_based import RuleBasedPolicy
from mpc.ports import Policy
from mpc.snapshot import SnapshotRefused, load, save
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement

PLACE = Configuration(2, 2_000_000)
SPACE = ConfigurationSpace(1, 6, (1_000_000, 2_000_000))


def holding(value: object) -> Policy:
    """A policy of ours with one more thing to remember."""
    policy = RuleBasedPolicy(SPACE, 1.0)
    vars(policy)["extra"] = value
    return policy


def after(value: object) -> Any:
    return vars(load(save(holding(value))))["extra"]


def test_a_policy_decides_as_before() -> None:
    policy = load(save(RuleBasedPolicy(SPACE, 1.0)))
    decision = policy.decide(Measurement(1, 1.0, PLACE, PLACE, latency_s=3.0), Bounds(SPACE))
    assert decision.target == Configuration(3, 2_000_000)


@given(
    array=arrays.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.uint32, np.bool_]),
        arrays.array_shapes(min_dims=0, min_side=0),
    )
)
def test_any_array_of_numbers_comes_back_bit_by_bit(array: np.ndarray[Any, Any]) -> None:
    for saved in (array, np.asfortranarray(array), array[::-1] if array.ndim else array):
        found = after(saved)
        assert (found.dtype, found.shape) == (saved.dtype, saved.shape)
        assert found.tobytes() == saved.tobytes()
        assert found.flags.writeable
        if saved.flags.f_contiguous:
            assert found.flags.f_contiguous


@given(number=st.floats())
@example(number=-0.0)
def test_numbers_of_numpy_keep_their_type(number: float) -> None:
    found = after(np.float64(number))
    assert isinstance(found, np.float64)
    assert found.tobytes() == np.float64(number).tobytes()


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_a_generator_goes_on_where_it_was_and_has_the_same_children(kind: str) -> None:
    generator = np.random.Generator(getattr(np.random, kind)(5))
    generator.normal(size=3)
    generator.integers(10, dtype=np.uint32)
    generator.spawn(1)
    found = after(generator)
    assert found.random(5).tolist() == generator.random(5).tolist()
    assert found.integers(10, size=5).tolist() == generator.integers(10, size=5).tolist()
    assert found.spawn(1)[0].random() == generator.spawn(1)[0].random()


def test_containers_come_back_and_what_was_shared_is_shared() -> None:
    shared = np.zeros(3)
    value = {
        "deque": deque([1, 2], maxlen=2),
        "ordered": OrderedDict(a=1),
        "counter": Counter("aab"),
        "default": defaultdict(list, {1: [2]}),
        "sets": ({1}, frozenset({2})),
        "range": range(3),
        "record": PLACE,
        "big": 2**200,
    }
    assert after(value) == value
    assert after(value)["deque"].maxlen == 2
    first, second = after((shared, shared))
    assert first is second


def test_a_forecaster_goes_on_bit_by_bit() -> None:
    whole, parts = Mixture(), Mixture()
    values = 100.0 + 30.0 * np.sin(np.arange(200) / 6.0)
    for value in values.tolist():
        whole.update(value)
        parts.update(value)
        parts = after(parts)
    expected, found = whole.forecast(10), parts.forecast(10)
    assert expected is not None
    assert found is not None
    assert expected.tobytes() == found.tobytes()


@dataclass
class Foreign:
    """Not of the core, though it decides."""

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        return Decision(measurement.requested, "hold")


@pytest.mark.parametrize(
    "value",
    [
        lambda: 1,
        rebalanced,
        Foreign(),
        Foreign,
        Path("/etc"),
        np.array([object()]),
        os.system,
        PLACE.__repr__,
        FolderTree,
    ],
    # Not repr: addresses differ from process to process, and so would the names of the tests.
    ids=[
        "lambda",
        "function",
        "foreign instance",
        "foreign class",
        "path",
        "array of objects",
        "os.system",
        "bound method",
        "class of energy",
    ],
)
def test_what_a_snapshot_may_not_hold_is_refused_when_it_is_saved(value: object) -> None:
    with pytest.raises(SnapshotRefused):
        save(holding(value))


def test_a_policy_of_somebody_else_is_refused() -> None:
    with pytest.raises(SnapshotRefused, match=r"tests\.mpc\.test_snapshot\.Foreign"):
        save(Foreign())


class Calls:
    """What pickles as a call."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._call


def forged(value: object, protocol: int = 4) -> bytes:
    """Pickled without any rule, inside a policy."""
    return pickle.dumps(holding(value), protocol)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (os.system, ("touch {path}",)),
        (eval, ("open({path!r}, 'w')",)),
        (exec, ("open({path!r}, 'w')",)),
        (open, ("{path}", "w")),
        (getattr, (os, "system")),
        (np.save, ("{path}", 1)),
        (np.load, ("{path}", None, True)),
        (pickle.loads, (b"",)),
        # Functions of the package itself.
        (rebalanced, (None, 1)),
        (load, (b"",)),
        (save, (None,)),
        (FolderTree, ("{path}",)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_no_call_but_the_few_that_are_named_runs(
    function: Callable[..., object], arguments: tuple[Any, ...], protocol: int, tmp_path: Path
) -> None:
    path = tmp_path / "written"
    filled = [text.format(path=str(path)) if isinstance(text, str) else text for text in arguments]
    if function is getattr:
        filled = [Path, "home"]  # a module has no pickle
    with pytest.raises(SnapshotRefused):
        load(forged(Calls(function, *filled), protocol))
    assert not path.exists()


def unpickling(module: str, name: str) -> bytes:
    """A stream that only names something: PROTO, two texts, STACK_GLOBAL, STOP."""
    texts = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
    return b"\x80\x04" + texts + b"\x93."


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("functools", "partial"),
        ("numpy", "load"),
        ("mpc.snapshot", "io"),
        ("mpc.snapshot", "io.open"),
        ("mpc.snapshot", "load"),
        ("mpc.snapshot", "pickle.loads"),
        ("mpc.values", "np"),
        ("mpc.values", "np.ndarray"),
        ("mpc.values", "dataclass"),
        ("mpc.policies.rule_based", "Measurement"),
        ("mpc.policies.rule_based", "RuleBasedPolicy.decide"),
        ("mpc.no_such_module", "Thing"),
        ("mpc.values", "NoSuchThing"),
        ("mpcx", "Thing"),
        ("energy.tree", "FolderTree"),
        ("runtime.config.schema", "Config"),
        ("forecasting.compiled", "numba"),
    ],
)
def test_nothing_else_can_be_named(module: str, name: str) -> None:
    with pytest.raises(SnapshotRefused):
        load(unpickling(module, name))


@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_refused(data: bytes) -> None:
    with pytest.raises(SnapshotRefused):
        load(data)


@given(cut=st.integers(0, 400), place=st.integers(0, 400), byte=st.integers(0, 255))
def test_a_damaged_snapshot_is_a_policy_or_refused(cut: int, place: int, byte: int) -> None:
    good = save(FixedPolicy(PLACE))
    damaged = bytearray(good[: len(good) - cut % len(good)])
    damaged[place % len(damaged)] = byte
    try:
        policy = load(bytes(damaged))
    except SnapshotRefused:
        return
    assert type(policy).__module__.startswith("mpc.")


@pytest.mark.parametrize("value", [None, 3, [1], np.zeros(2)], ids=repr)
def test_what_is_no_object_of_ours_is_no_snapshot(value: Any) -> None:
    with pytest.raises(SnapshotRefused, match="not a snapshot"):
        load(pickle.dumps(value, 4))
