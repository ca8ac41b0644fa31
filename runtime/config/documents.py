"""The texts around the options of the controller: its commented TOML file and its page."""

from runtime.config.render import commented_toml, option_tables
from runtime.config.schema import Config

_TOML_HEAD = """\
# Foresight: every option with its default. `foresight check FILE` validates a file.
# Generated from the schema by `make docs`; an option left out takes the value given here.
"""

_TABLE_HEAD = """\
# Configuration

<!-- Generated from the schema by `make docs`; do not edit. -->

Foresight reads one TOML file. Every option has a default, so an empty file is valid;
`foresight config` prints a commented file with all of them and `foresight check FILE` validates
one. `--set section.key=value` (repeatable) changes single options on the command line; the value
is written as in TOML, and a plain word may go without quotes.

An unknown key, a wrong type, a value out of range or values that contradict each other stop the
command with exit code 2 and one line that names the file, the key, the value and what is allowed:

```
foresight.toml: cost.alpha = -1: must be greater than 0
```
"""

_TABLE_TAIL = """\
## Options that must agree

- `executors.min` is at most `executors.max`, and `static-N` lies between them.
- `frequency.list_khz` stands alone, in ascending order; otherwise `frequency.min_khz`
  is at most `frequency.max_khz` and `frequency.step_khz` gives at most 256 frequencies. A list
  given with `--set` replaces the range of the file. What the hosts do not have is left out; if they
  have nothing of it, the controller does not start.
- `limits.dead_time_s` is less than `horizon.steps` * `horizon.step_s`: a plan that ends before an
  executor can serve would never ask for one.
- `forecast.season_steps` needs a model with a season: `holt-winters` or `mixture`.
- `agents.authority`, `agents.certificate` and `agents.key` stand together, and `https` needs them.
- `power.base_w`, `power.per_ghz_w`, `power.per_executor_ghz_w` and `power.per_executor_ghz3_w`
  stand together, without `power.full_power_w`, and not all of them are 0.
- `schedule.exclude` holds periods as in a crontab, `schedule.timezone` a time zone of the machine.
- `min_breaches` is at most `max_breaches` in `[policies.parameter-search]`, `lower` at most `upper`
  in `[policies.rule-based]` and `[policies.spark-ratio]`, and `lower_load`, `target_load` and
  `upper_load` of `[policies.decentralised]` ascend.
- `slo.latency_ms` is at least `latency_granularity_ms` and less than `max_latency_ms` of
  `[policies.q-learning]` and `[policies.value-iteration]`, where they are given.
- With `forecast.risk = "cvar"`, one of the `forecast.scenarios` at least is beyond
  `forecast.risk_quantile`.
"""


def default_toml() -> str:
    """`foresight.toml`: a valid file with every option, its meaning and its default."""
    return commented_toml(Config, _TOML_HEAD)


def configuration_page() -> str:
    """docs/configuration.md."""
    return option_tables(Config, _TABLE_HEAD, _TABLE_TAIL)
