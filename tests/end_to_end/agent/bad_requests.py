"""Requests no agent may carry out: broken HTTP, JSON or fields, and good form without right.

Each is made from a seeded generator, so a run can be repeated. A request knows whether it is
complete: of an incomplete one the agent may wait for the rest, so no answer is due.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

POST_PATHS = ("/v1/lease", "/v1/renew", "/v1/frequency", "/v1/release")
GET_PATHS = ("/v1/hello", "/v1/energy", "/v1/executors", "/v1/status", "/healthz", "/metrics")

# Well-formed bodies whose epoch nobody was granted: right in form, without right.
GOOD_FORM: dict[str, dict[str, object]] = {
    "/v1/lease": {"period_ms": 1000},
    "/v1/renew": {"epoch": 2**40, "sequence": 1},
    "/v1/frequency": {"epoch": 2**40, "sequence": 1, "max_khz": 1_500_000},
    "/v1/release": {"epoch": 2**40, "sequence": 1},
}
# A lease is free to take, so it has no body that is good in form and must be refused.
COMMANDS = ("/v1/renew", "/v1/frequency", "/v1/release")

ODD_VALUES: tuple[object, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1.0,
    1.5,
    1e308,
    2**53,
    2**63,
    2**64,
    10**400,
    -(10**400),
    "",
    "1500000",
    "0x16e360",
    "policy0",
    "../../etc/passwd",
    "/sys/devices/system/cpu",
    "\x00",
    "é" * 50,
    "a" * 3000,
    [],
    [1],
    [[]],
    {},
    {"max_khz": 1},
    ["policy0", "policy0"],
    ["policy99999"],
    ["policy-1"],
    ["policy0/../policy1"],
    ["policy0\n"],
)
RAW_VALUES = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "01",
    "0x10",
    "+1",
    "1_000",
    "'1'",
    "--1",
    "1.",
)


@dataclass(frozen=True, slots=True)
class BadRequest:
    kind: str
    data: bytes
    complete: bool


def bad_request(draw: random.Random) -> BadRequest:
    """One request out of all kinds, the well-formed kinds more often: they go deeper."""
    make = draw.choice(_KINDS)
    return make(draw)


def _http(method: str, path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if not any(header.lower().startswith("content-type") for header in headers):
        lines.append("Content-Type: application/json")
    if not any(header.lower().startswith(("content-length", "transfer-")) for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _body(draw: random.Random) -> tuple[str, dict[str, object]]:
    path = draw.choice(POST_PATHS)
    return path, dict(GOOD_FORM[path])


def _odd_field(draw: random.Random) -> BadRequest:
    """One field holds what it must not; an odd value that fits is still without right."""
    path = draw.choice(COMMANDS)
    body = dict(GOOD_FORM[path])
    name = draw.choice([*body, "policies", "min_khz"] if path == "/v1/frequency" else list(body))
    body[name] = draw.choice(ODD_VALUES)
    return BadRequest("odd field", _http("POST", path, json.dumps(body).encode()), True)


def _odd_lease(draw: random.Random) -> BadRequest:
    body: dict[str, object] = {"period_ms": draw.choice(ODD_VALUES)}
    if draw.random() < 0.3:
        body = {"period_ms": 1000, "take_over": draw.choice(["yes", 1, None, [], 0.0])}
    return BadRequest("odd lease", _http("POST", "/v1/lease", json.dumps(body).encode()), True)


def _unknown_field(draw: random.Random) -> BadRequest:
    path, body = _body(draw)
    body[draw.choice(["path", "root", "governor", "__class__", "", "Epoch", "max_khz "])] = 1
    return BadRequest("unknown field", _http("POST", path, json.dumps(body).encode()), True)


def _missing_field(draw: random.Random) -> BadRequest:
    path, body = _body(draw)
    del body[draw.choice(list(body))]
    return BadRequest("missing field", _http("POST", path, json.dumps(body).encode()), True)


def _raw_value(draw: random.Random) -> BadRequest:
    path, body = _body(draw)
    name = draw.choice(list(body))
    body[name] = "@"
    text = json.dumps(body).replace('"@"', draw.choice(RAW_VALUES))
    return BadRequest("raw value", _http("POST", path, text.encode()), True)


def _repeated_key(draw: random.Random) -> BadRequest:
    path = draw.choice(COMMANDS)
    text = json.dumps(GOOD_FORM[path])
    text = text[:-1] + f', "epoch": {draw.choice([1, 2, "true", "null"])}}}'
    return BadRequest("repeated key", _http("POST", path, text.encode()), True)


def _without_right(draw: random.Random) -> BadRequest:
    path = draw.choice(COMMANDS)
    body = dict(GOOD_FORM[path])
    body["epoch"] = draw.randint(2**40, 2**53 - 1)
    body["sequence"] = draw.randint(1, 2**53 - 1)
    return BadRequest("without right", _http("POST", path, json.dumps(body).encode()), True)


def _broken_json(draw: random.Random) -> BadRequest:
    """A good body with some bytes replaced, removed or repeated, so that it is JSON no more."""
    path, body = _body(draw)
    data = bytearray(json.dumps(body).encode())
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data))
        match draw.randrange(3):
            case 0:
                data[place] = draw.randrange(256)
            case 1:
                del data[place : place + draw.randint(1, 5)]
            case _:
                data[place:place] = data[place : place + draw.randint(1, 9)]
        if not data:
            break
    if path == "/v1/lease":
        data += b"\xff"  # a changed number may still be a good period
    return BadRequest("broken json", _http("POST", path, bytes(data)), True)


def _no_object(draw: random.Random) -> BadRequest:
    text = draw.choice(
        ["", "null", "[]", "1", '"x"', "{", "}", "[" * 5000, '{"a":' * 5000, "\ufeff{}"]
    )
    path = draw.choice(POST_PATHS)
    return BadRequest("no object", _http("POST", path, text.encode()), True)


def _noise_body(draw: random.Random) -> BadRequest:
    return BadRequest(
        "noise body",
        _http("POST", draw.choice(POST_PATHS), draw.randbytes(draw.randint(1, 400))),
        True,
    )


def _oversized(draw: random.Random) -> BadRequest:
    body = b'{"period_ms": ' + b" " * draw.randint(17_000, 60_000) + b"1000}"
    return BadRequest("oversized", _http("POST", draw.choice(POST_PATHS), body), True)


def _oversized_chunks(draw: random.Random) -> BadRequest:
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    data = _http("POST", draw.choice(POST_PATHS), b"", "Transfer-Encoding: chunked")
    return BadRequest("oversized chunks", data + chunk * 3 + b"0\r\n\r\n", True)


def _bad_chunks(draw: random.Random) -> BadRequest:
    junk = draw.choice(
        [b"zz\r\n{}\r\n0\r\n\r\n", b"-1\r\n\r\n", b"ffffffffffffffffff\r\n", b"2;\x00\r\n{}"]
    )
    data = _http("POST", draw.choice(POST_PATHS), b"", "Transfer-Encoding: chunked")
    return BadRequest("bad chunks", data + junk, False)


def _wrong_media(draw: random.Random) -> BadRequest:
    path, body = _body(draw)
    header = draw.choice(
        [
            "Content-Type: text/plain",
            "Content-Type: ",
            "Content-Type: application/x-www-form-urlencoded",
        ]
    )
    return BadRequest("wrong media", _http("POST", path, json.dumps(body).encode(), header), True)


def _compressed(draw: random.Random) -> BadRequest:
    path, body = _body(draw)
    header = f"Content-Encoding: {draw.choice(['gzip', 'deflate', 'br', 'identity, gzip'])}"
    return BadRequest("compressed", _http("POST", path, json.dumps(body).encode(), header), True)


def _wrong_place(draw: random.Random) -> BadRequest:
    path = draw.choice(
        [
            "/",
            "/v1",
            "/v2/lease",
            "/v1/lease/",
            "/v1/lease/../../etc/passwd",
            "/%2e%2e/%2e%2e/etc/shadow",
            "//v1//frequency",
            "/v1/frequency%00",
            "/" + "a" * draw.randint(1, 3000),
            "/v1/" + draw.randbytes(8).hex(),
        ]
    )
    method = draw.choice(["GET", "POST", "PUT"])
    return BadRequest("wrong place", _http(method, path, b"{}"), True)


def _wrong_method(draw: random.Random) -> BadRequest:
    if draw.random() < 0.5:
        return BadRequest("wrong method", _http("GET", draw.choice(POST_PATHS), b""), True)
    method = draw.choice(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
    return BadRequest("wrong method", _http(method, draw.choice(GET_PATHS), b"{}"), True)


def _bad_head(draw: random.Random) -> BadRequest:
    """A request line or a header that is no HTTP."""
    head = draw.choice(
        [
            b"GET /v1/hello HTTP/9.9\r\nHost: x\r\n\r\n",
            b"GET  HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + draw.randbytes(100),
            b"POST /v1/lease HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
            b"POST /v1/lease HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            b"POST /v1/lease HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            b"POST /v1/lease HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
            b"GET /v1/status HTTP/1.1\r\nBad\x00Header: 1\r\n\r\n",
            b"GET /v1/status HTTP/1.1\r\n: empty\r\n\r\n",
            b"GET /v1/status HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n\r\n",
            b"GET /v1/status\xff HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ]
    )
    return BadRequest("bad head", head, False)


def _noise(draw: random.Random) -> BadRequest:
    return BadRequest("noise", draw.randbytes(draw.randint(1, 600)), False)


def _cut(draw: random.Random) -> BadRequest:
    path, body = _body(draw)
    whole = _http("POST", path, json.dumps(body).encode())
    return BadRequest("cut", whole[: draw.randint(1, len(whole) - 1)], False)


_KINDS: tuple[Callable[[random.Random], BadRequest], ...] = (
    *(_odd_field,) * 6,
    *(_odd_lease,) * 2,
    *(_unknown_field,) * 2,
    *(_missing_field,) * 2,
    *(_raw_value,) * 3,
    *(_repeated_key,) * 2,
    *(_without_right,) * 3,
    *(_broken_json,) * 5,
    *(_no_object,) * 2,
    *(_noise_body,) * 2,
    _oversized,
    _oversized_chunks,
    _bad_chunks,
    _wrong_media,
    _compressed,
    *(_wrong_place,) * 2,
    *(_wrong_method,) * 2,
    *(_bad_head,) * 2,
    _noise,
    _cut,
)
