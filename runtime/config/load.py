"""Reads the configuration of the controller from TOML and `--set` overrides."""

from collections.abc import Sequence
from pathlib import Path

from mpc.options import Key
from runtime.config.rules import contradictions
from runtime.config.schema import Config
from runtime.config.strict import OVERRIDE, ConfigError, Given, read_strictly

_LIST_KHZ: Key = ("frequency", "list_khz")
_RANGE_KHZ: tuple[Key, ...] = tuple(
    ("frequency", name) for name in ("min_khz", "max_khz", "step_khz")
)


def load_config(path: str | Path | None, overrides: Sequence[str] = ()) -> Config:
    """The configuration of a TOML file (None: all defaults), changed by `section.key=value`s.

    Raises `ConfigError`, one line, for anything unreadable, unknown, out of range or
    contradictory.
    """
    return read_strictly(Config, path, overrides, contradictions, _one_frequency_form)


def _one_frequency_form(given: Given) -> Given:
    """A list of frequencies or a range; a list from `--set` replaces the range of the file."""
    written = [key for key in _RANGE_KHZ if key in given]
    if _LIST_KHZ not in given or not written:
        return given
    source, value = given[_LIST_KHZ]
    if source == OVERRIDE and all(given[key][0] != OVERRIDE for key in written):
        return {key: pair for key, pair in given.items() if key not in written}
    keys = ", ".join(".".join(key) for key in written)
    raise ConfigError.of_value(source, _LIST_KHZ, value, f"must not stand beside {keys}")
