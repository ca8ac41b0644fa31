"""TOML configuration: one schema, strict reading, and the files generated from it."""

from runtime.config.load import load_config
from runtime.config.schema import Config
from runtime.config.strict import ConfigError

__all__ = ["Config", "ConfigError", "load_config"]
