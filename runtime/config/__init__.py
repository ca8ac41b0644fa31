"""TOML configuration: one schema, strict reading, and the files generated from it."""

from runtime.config.errors import ConfigError
from runtime.config.load import load_config
from runtime.config.schema import Config

__all__ = ["Config", "ConfigError", "load_config"]
