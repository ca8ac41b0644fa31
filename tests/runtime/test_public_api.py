"""The names applications import."""

import pytest

import foresight
from runtime.config import load_config


def test_the_exported_names() -> None:
    assert foresight.__all__ == ["load_config"]
    assert foresight.load_config is load_config


def test_an_unknown_name_is_an_attribute_error() -> None:
    name = "no_such_name"
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        getattr(foresight, name)
