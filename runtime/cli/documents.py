"""The JSON documents that commands write."""

import math
import sys
from pathlib import Path

import msgspec
import numpy as np

from runtime.cli.parameters import STANDARD_OUTPUT


def write_document(value: object, json_file: str) -> None:
    """Dataclasses, arrays and numbers as JSON; what is not finite becomes null."""
    plain = _finite(msgspec.to_builtins(value, enc_hook=_plain))
    text = msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
    if json_file == STANDARD_OUTPUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        Path(json_file).write_text(text, encoding="utf-8")


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        plain: object = value.tolist()
        return plain
    raise TypeError(f"no JSON form for {type(value).__name__}")


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
