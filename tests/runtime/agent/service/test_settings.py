"""The agent refuses to start on a configuration that is unsafe or says two things."""

from pathlib import Path

import pytest

from runtime.agent.service.settings import AgentConfig, load_agent_config
from runtime.config import ConfigError

TLS = (
    "tls.authority=/etc/foresight/ca.pem",
    "tls.certificate=/etc/foresight/agent.pem",
    "tls.key=/etc/foresight/agent.key",
)


def test_nothing_listens_on_the_network_by_default() -> None:
    config = load_agent_config(None)
    assert config == AgentConfig()
    assert config.listen.address is None
    assert not config.has_tls


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_needs_no_tls(address: str) -> None:
    assert load_agent_config(None, [f'listen.address="{address}"']).listen.address == address


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.7", "::", "::ffff:192.0.2.7"])
def test_any_other_address_without_tls_is_refused(address: str) -> None:
    override = f'listen.address="{address}"'
    with pytest.raises(ConfigError, match=r"listen\.address = .*must be a loopback address unless"):
        load_agent_config(None, [override])
    assert load_agent_config(None, [override, *TLS]).has_tls


@pytest.mark.parametrize("missing", range(3))
def test_half_of_tls_is_refused(missing: int) -> None:
    given = [each for index, each in enumerate(TLS) if index != missing]
    with pytest.raises(ConfigError, match="must stand together with tls"):
        load_agent_config(None, given)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ('listen.address="1.2.3"', "must be an IP address"),
        ("listen.port=65536", "must be between 0 and 65535"),
        ('listen.socket="relative.sock"', "must be an absolute path"),
        ("frequency.floor_khz=1200", "must be between 10000 and 10000000"),
        ("frequency.may_move_minimum=1", "must be true or false"),
        ('tls.allowed=["a b"]', "must be a list of at most 64 names"),
        ("energy.meter=rapl", "must be one of auto, "),
        ("emulation.min_khz=3000000", "must be below max_khz = 2000000"),
        ("emulation.share=0.01", "must be between 0.02 and 1"),
        ("guard.burst=0", "must be between 1 and 10000"),
        ("files.sate=/x", "did you mean files.state?"),
    ],
)
def test_a_mistake_is_one_line(override: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_agent_config(None, [override])
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_share_of_a_core_needs_a_throttle() -> None:
    share = "emulation.share=0.25"
    assert load_agent_config(None, [share]).emulation.share == 0.25
    with pytest.raises(ConfigError, match="must be 1 with throttle = none"):
        load_agent_config(None, [share, "emulation.throttle=none"])


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('[listen]\naddress = "127.0.0.1"\nport = 0\n[files]\nstate = "/srv/x"\n')
    config = load_agent_config(path)
    assert (config.listen.port, config.files.state) == (0, "/srv/x")
