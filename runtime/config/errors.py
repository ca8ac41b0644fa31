"""What is wrong with a configuration, always as one line."""

from runtime.config.toml_text import key_text, value_text


class ConfigError(Exception):
    """A file, a key or a value that cannot be used: where it stands and what is allowed."""

    def __init__(self, *parts: str) -> None:
        super().__init__(": ".join(parts))

    @classmethod
    def of_value(cls, source: str, key: tuple[str, ...], value: object, must: str) -> "ConfigError":
        return cls(source, f"{key_text(key)} = {value_text(value)}", must)
