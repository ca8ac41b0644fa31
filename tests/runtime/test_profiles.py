"""One word for three weights, and any weight that is given counts instead."""

from pathlib import Path

import pytest

from mpc.policies.foresight.options import PROFILES
from runtime.config import Config, load_config
from runtime.config.documents import configuration_page, default_toml


def weights(config: Config) -> tuple[float, float, float]:
    return config.cost.weights


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_its_weights(profile: str) -> None:
    assert weights(load_config(None, [f"cost.profile={profile}"])) == PROFILES[profile]


def test_the_default_is_balanced() -> None:
    assert weights(Config()) == PROFILES["balanced"] == (1.0, 0.5, 0.02)


def test_profiles_are_in_order() -> None:
    """The price of a violation in energy falls from latency over balanced to energy."""
    prices = [PROFILES[word].latency / PROFILES[word].resource for word in PROFILES]
    assert list(PROFILES) == ["latency", "balanced", "energy"]
    assert sorted(prices, reverse=True) == prices


def test_a_given_weight_counts_instead(tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    file.write_text('[cost]\nprofile = "energy"\nalpha = 9.0\n')
    energy = PROFILES["energy"]
    assert weights(load_config(file)) == (9.0, energy.resource, energy.switching)
    assert weights(load_config(file, ["cost.gamma=0"])) == (9.0, energy.resource, 0.0)


def test_the_profile_of_the_generated_file_can_be_changed_alone(tmp_path: Path) -> None:
    file = tmp_path / "foresight.toml"
    file.write_text(default_toml().replace('profile = "balanced"', 'profile = "latency"'))
    assert weights(load_config(file)) == PROFILES["latency"]
    assert "1 (balanced)" in configuration_page()
