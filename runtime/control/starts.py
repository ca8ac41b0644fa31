"""What each start of a controller was made of, beside its journal.

A decision can be explained and replayed only with the configuration it was made under. It is kept
twice: as `config.toml`, for people and for `foresight check`, and with what the cluster granted as
one line for every configuration the journal has seen.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mpc.values import ConfigurationSpace
from runtime.config import Config
from runtime.config.toml_text import toml_document
from runtime.files import replace_file
from runtime.fleet.targets import HostFrequencies

NAME = "starts.jsonl"
CONFIG_NAME = "config.toml"
MOST_STARTS = 100


class Start(msgspec.Struct, frozen=True):
    """The controller from one moment on."""

    at_s: float
    """Wall clock, before the first step."""
    version: str
    given_policy: bool
    """The application brought a policy of its own in place of that of the configuration."""
    space: ConfigurationSpace
    config: Config
    hosts: tuple[HostFrequencies, ...] = ()
    """What the hosts offered; none where nobody sets frequencies."""


def note_start(folder: Path, start: Start) -> None:
    """Write both files, readable by their owner alone. Raises `OSError`."""
    earlier = list(read_starts(folder))
    if not earlier or msgspec.structs.replace(earlier[-1], at_s=start.at_s) != start:
        kept = [*earlier, start][-MOST_STARTS:]
        replace_file(folder / NAME, b"".join(msgspec.json.encode(line) + b"\n" for line in kept))
    replace_file(folder / CONFIG_NAME, config_toml(start.config).encode())


def read_starts(folder: Path) -> Iterator[Start]:
    """Oldest first; lines of a version with other options are passed over."""
    try:
        lines = (folder / NAME).read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Start)
        except msgspec.DecodeError:
            continue


def start_of(starts: Sequence[Start], at_s: float) -> Start | None:
    """The one in force at that time."""
    earlier = [start for start in starts if start.at_s <= at_s]
    return earlier[-1] if earlier else None


def config_toml(config: Config) -> str:
    """Every option with its value; what is left out has none."""
    document = msgspec.to_builtins(config)
    head = "The configuration that the controller runs with, written by it at its start."
    return toml_document(document, [head])
