"""Reads the configuration of the agent from TOML and `--set` overrides."""

from collections.abc import Sequence
from pathlib import Path

from runtime.agent.service.settings import AgentConfig, contradictions
from runtime.config.strict import read_strictly

DEFAULT_PATH = Path("/etc/foresight/agent.toml")


def load_agent_config(path: str | Path | None, overrides: Sequence[str] = ()) -> AgentConfig:
    """The configuration of a TOML file (None: all defaults), changed by `section.key=value`s.

    Raises `ConfigError`, one line, for anything unreadable, unknown, out of range or
    contradictory. Who may write the file is checked by the daemon, not here.
    """
    return read_strictly(AgentConfig, path, overrides, contradictions)
