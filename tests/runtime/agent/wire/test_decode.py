"""Bodies: exactly what was meant gets through, everything else is refused with a code."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agent.wire.decode import LARGEST_BODY, decode
from runtime.agent.wire.messages import (
    FrequencyRequest,
    LeaseRequest,
    ReleaseRequest,
    RenewRequest,
    Request,
)
from runtime.agent.wire.refusals import Refused

GOOD: dict[type[Request], dict[str, object]] = {
    LeaseRequest: {"period_ms": 1000, "take_over": False},
    RenewRequest: {"epoch": 3, "sequence": 5},
    FrequencyRequest: {
        "epoch": 3,
        "sequence": 5,
        "max_khz": 1_500_000,
        "min_khz": None,
        "policies": ["policy0"],
    },
    ReleaseRequest: {"epoch": 3, "sequence": 5},
}
INTEGERS = [
    (kind, name)
    for kind, fields in GOOD.items()
    for name in fields
    if name not in {"take_over", "policies"}
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def refusal(body: bytes, kind: type[Request]) -> Refused:
    with pytest.raises(Refused) as caught:
        decode(body, kind)
    return caught.value


def with_field(kind: type[Request], name: str, text: str) -> bytes:
    fields = {key: json.dumps(value) for key, value in GOOD[kind].items()} | {name: text}
    return ("{" + ",".join(f'"{key}":{value}' for key, value in fields.items()) + "}").encode()


@pytest.mark.parametrize("kind", GOOD)
def test_what_was_meant_gets_through(kind: type[Request]) -> None:
    decoded = decode(json.dumps(GOOD[kind]).encode(), kind)
    assert json.loads(msgspec.json.encode(decoded)) == GOOD[kind]


@given(field=st.sampled_from(INTEGERS), value=json_values)
def test_any_value_in_an_integer_field_is_that_integer_or_refused(
    field: tuple[type[Request], str], value: object
) -> None:
    kind, name = field
    try:
        decoded = decode(with_field(kind, name, json.dumps(value)), kind)
    except Refused as refused:
        assert refused.code in {"bad_field", "bad_request"}
        return
    got = getattr(decoded, name)
    assert type(got) is type(value)
    assert got == value


@given(field=st.sampled_from(INTEGERS), value=st.integers(-(10**30), 10**30))
def test_an_integer_is_kept_exactly_or_refused_with_its_range(
    field: tuple[type[Request], str], value: int
) -> None:
    kind, name = field
    try:
        assert getattr(decode(with_field(kind, name, str(value)), kind), name) == value
    except Refused as refused:
        assert refused.refusal.field == name
        assert refused.refusal.value == str(value)
        assert refused.refusal.allowed is not None
        assert "an integer from" in refused.refusal.allowed


@given(body=st.binary(max_size=200))
def test_any_bytes_are_refused_with_a_code(body: bytes) -> None:
    for kind in GOOD:
        assert refusal(body, kind).code in {"bad_field", "bad_request"}


@pytest.mark.parametrize("text", ["true", "1.0", "1e3", "-0.0", '"1"', "null", "[]", "{}", "-1"])
@pytest.mark.parametrize(("kind", "name"), [(RenewRequest, "epoch"), (LeaseRequest, "period_ms")])
def test_what_is_no_integer_is_refused_naming_field_value_and_range(
    kind: type[Request], name: str, text: str
) -> None:
    refused = refusal(with_field(kind, name, text), kind).refusal
    assert (refused.code, refused.field, refused.value) == ("bad_field", name, text)
    assert refused.allowed is not None and refused.allowed.startswith("an integer from ")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1x0", "01", "+1", "1_000"])
def test_what_is_no_json_is_refused(text: str) -> None:
    assert refusal(with_field(RenewRequest, "epoch", text), RenewRequest).code == "bad_request"


def test_a_missing_field_is_named() -> None:
    refused = refusal(b'{"epoch": 1, "sequence": 1}', FrequencyRequest).refusal
    assert (refused.code, refused.field) == ("bad_field", "max_khz")
    assert refused.allowed == "an integer from 10000 to 10000000"


def test_an_unknown_field_is_named_and_shortened() -> None:
    body = json.dumps({"epoch": 1, "sequence": 1, "x" * 5000: 1}).encode()
    refused = refusal(body, RenewRequest).refusal
    assert refused.code == "bad_field"
    assert refused.field == "x" * 64
    assert refused.allowed == "only epoch, sequence"


def test_a_field_given_twice_is_refused() -> None:
    refused = refusal(b'{"epoch": 1, "sequence": 1, "ep\\u006fch": 2}', RenewRequest).refusal
    assert (refused.code, refused.field) == ("bad_field", "epoch")


@pytest.mark.parametrize(
    "name",
    ["policy", "policy-1", "policy01", "policy0\n", "../policy0", "policy0/../..", "POLICY0"],
)
def test_a_policy_is_only_ever_a_policy_name(name: str) -> None:
    body = with_field(FrequencyRequest, "policies", json.dumps(["policy1", name]))
    refused = refusal(body, FrequencyRequest).refusal
    assert (refused.code, refused.field) == ("bad_field", "policies[1]")
    assert refused.value == json.dumps(name)


def test_deep_nesting_is_refused() -> None:
    deep = "[" * 5000 + "]" * 5000
    assert refusal(deep.encode(), RenewRequest).code == "bad_request"
    for kind, name in INTEGERS:
        assert refusal(with_field(kind, name, deep), kind).code == "bad_field"
    body = with_field(FrequencyRequest, "policies", deep)
    assert refusal(body, FrequencyRequest).code == "bad_field"


def test_long_values_are_shortened() -> None:
    refused = refusal(with_field(RenewRequest, "epoch", '"' + "x" * 9000 + '"'), RenewRequest)
    assert refused.refusal.value is not None and len(refused.refusal.value) <= 100


def test_the_size_is_bounded() -> None:
    good = json.dumps(GOOD[RenewRequest]).encode()
    assert decode(good.ljust(LARGEST_BODY), RenewRequest)
    assert refusal(good.ljust(LARGEST_BODY + 1), RenewRequest).code == "too_large"


def test_numbers_beyond_doubles_are_refused_not_rounded() -> None:
    assert math.isinf(float("1e400"))
    for text in ("1e400", "1" + "0" * 400, "9007199254740992"):
        body = with_field(RenewRequest, "epoch", text)
        assert refusal(body, RenewRequest).code == "bad_field"
