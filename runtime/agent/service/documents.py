"""The texts around the options of the agent: its commented TOML file and its page."""

from runtime.agent.service.settings import AgentConfig
from runtime.config.render import commented_toml, option_tables

_TOML_HEAD = """\
# The agent of Foresight on this host: every option with its default. An option left out takes the
# value given here; `foresight agent check FILE` validates a file. Others must not be able to write
# this file, nor to read the key it names.
"""

_TABLE_HEAD = """\
# Configuration of the agent

<!-- Generated from the schema by `make docs`; do not edit. -->

`foresight agent run --config FILE` reads one TOML file (`/etc/foresight/agent.toml` once
installed). Every option has a default, so an empty file is valid: an agent that listens on its UNIX
socket alone. `--set section.key=value` (repeatable) changes single options. A mistake stops the
agent before it touches anything, with exit code 2 and one line.
"""

_TABLE_TAIL = """\
## Options that must agree

- `listen.address` is a loopback address, or `[tls]` is given: controllers on the network prove who
  they are.
- `tls.authority`, `tls.certificate` and `tls.key` stand together.
- `emulation.min_khz` is below `emulation.max_khz`.
- `emulation.share` is 1 unless there is a throttle to hold the executors to it.
"""


def default_agent_toml() -> str:
    """A valid file with every option, its meaning and its default."""
    return commented_toml(AgentConfig, _TOML_HEAD)


def agent_configuration_page() -> str:
    """docs/agent-configuration.md."""
    return option_tables(AgentConfig, _TABLE_HEAD, _TABLE_TAIL)
