"""What the values of several options must satisfy together.

A rule that is broken gives one sentence for each option that could mend it; the loader blames
the one the user wrote, so that nobody is told to look at a default.
"""

from collections.abc import Iterator
from itertools import pairwise

from forecasting.catalogue import find_forecaster
from mpc.options import Contradiction, Surroundings
from mpc.policies.catalogue import find_policy, policy_entries
from runtime.config.live import Agents, Power, agent_address
from runtime.config.schedule import schedule_contradictions
from runtime.config.schema import Config, Frequency
from runtime.config.web import Web

MAX_FREQUENCIES = 256


def contradictions(config: Config) -> Iterator[Contradiction]:
    yield from _executors(config)
    yield from _frequencies(config.frequency)
    yield from _forecast(config)
    yield from _dead_time(config)
    yield from _agents(config.agents)
    yield from _power(config.power)
    yield from schedule_contradictions(config.schedule)
    yield from _web(config.web)
    yield from _policies(config)


def _web(web: Web) -> Iterator[Contradiction]:
    if web.enabled and not web.on_loopback and web.token_file is None:
        yield (
            (("web", "address"), "must be loopback without web.token_file"),
            (("web", "token_file"), f"must be given with web.address = {web.address}"),
        )


def _executors(config: Config) -> Iterator[Contradiction]:
    low, high = config.executors.min, config.executors.max
    if low > high:
        yield (
            (("executors", "min"), f"must be at most executors.max = {high}"),
            (("executors", "max"), f"must be at least executors.min = {low}"),
        )


def _policies(config: Config) -> Iterator[Contradiction]:
    """What the options of single policies say of one another, and whether the chosen one loads."""
    try:
        chosen = find_policy(config.policy)
    except ValueError as error:
        yield ((("policy",), f"must be one that loads: {error}"),)
        return
    for entry in (chosen, *(other for other in policy_entries() if other.has_table)):
        options = config.options_of(entry.name)
        rules = getattr(options, "contradictions", None)
        if rules is not None:
            executors = config.executors
            yield from rules(
                Surroundings(entry.name, config.slo.latency_ms, executors.min, executors.max)
            )


def _frequencies(frequency: Frequency) -> Iterator[Contradiction]:
    if frequency.list_khz is not None:
        if any(low >= high for low, high in pairwise(frequency.list_khz)):
            yield ((("frequency", "list_khz"), "must be in strictly ascending order"),)
        return
    low, high = frequency.min_khz, frequency.max_khz
    if low is not None and high is not None and low > high:
        yield (
            (("frequency", "min_khz"), f"must be at most frequency.max_khz = {high}"),
            (("frequency", "max_khz"), f"must be at least frequency.min_khz = {low}"),
        )
        return
    count = len(frequency.nominal_khz)
    if count > MAX_FREQUENCIES:
        must = f"must give at most {MAX_FREQUENCIES} frequencies, not {count}"
        names = ("step_khz", "max_khz", "min_khz")
        yield tuple((("frequency", name), must) for name in names)


def _forecast(config: Config) -> Iterator[Contradiction]:
    forecast = config.forecast
    try:
        seasonal = find_forecaster(forecast.model).seasonal
    except ValueError as error:
        yield ((("forecast", "model"), f"must be one that loads: {error}"),)
        return
    if forecast.season_steps is not None and not seasonal:
        yield (
            (
                ("forecast", "season_steps"),
                f'must be left out with forecast.model = "{forecast.model}", which has no season',
            ),
        )
    # Beyond the quantile there must be a scenario to average.
    tail = 1.0 - forecast.risk_quantile
    if forecast.risk == "cvar" and tail * forecast.scenarios < 1 - 1e-9:
        yield (
            (
                ("forecast", "scenarios"),
                f"must be at least 1 / (1 - forecast.risk_quantile) = {1 / tail:.4g}",
            ),
            (
                ("forecast", "risk_quantile"),
                f"must be at most 1 - 1 / forecast.scenarios = {1 - 1 / forecast.scenarios:.4g}",
            ),
        )


def _dead_time(config: Config) -> Iterator[Contradiction]:
    # A plan that ends before an executor it asks for can serve never asks for one.
    dead_time_s = config.limits.dead_time_s
    if dead_time_s is None:
        return
    horizon_s = config.horizon.steps * config.horizon.step_s
    if dead_time_s >= horizon_s:
        yield (
            (
                ("limits", "dead_time_s"),
                f"must be less than horizon.steps * horizon.step_s = {horizon_s:g}",
            ),
            (
                ("horizon", "steps"),
                f"must reach beyond limits.dead_time_s = {dead_time_s:g} "
                f"at horizon.step_s = {config.horizon.step_s:g}",
            ),
            (
                ("horizon", "step_s"),
                f"must reach beyond limits.dead_time_s = {dead_time_s:g} "
                f"in horizon.steps = {config.horizon.steps}",
            ),
        )


def _power(power: Power) -> Iterator[Contradiction]:
    names = ("base_w", "per_ghz_w", "per_executor_ghz_w", "per_executor_ghz3_w")
    given = [name for name in names if getattr(power, name) is not None]
    missing = [f"power.{name}" for name in names if name not in given]
    if given and missing:
        words = f"must stand together with {' and '.join(missing)}"
        yield tuple((("power", name), words) for name in given)
    if given and power.full_power_w is not None:
        yield ((("power", "full_power_w"), "must not stand beside a model of the power"),)
    if power.coefficients is not None and not any(power.coefficients):
        yield tuple((("power", name), "must not be 0 as all the others are") for name in given)


def _agents(agents: Agents) -> Iterator[Contradiction]:
    names = ("authority", "certificate", "key")
    given = [name for name in names if getattr(agents, name) is not None]
    missing = [f"agents.{name}" for name in names if name not in given]
    if given and missing:
        words = f"must stand together with {' and '.join(missing)}"
        yield tuple((("agents", name), words) for name in given)
    addresses = [agent_address(url) for url in agents.urls]
    for host, address in addresses:
        if address.startswith("https:") and missing:
            yield ((("agents", "urls"), f"must stand together with {' and '.join(missing)}"),)
        if not host:
            yield ((("agents", "urls"), "must name the host of a UNIX socket, HOST=unix:/PATH"),)
    hosts = [host for host, _ in addresses]
    for host in sorted({host for host in hosts if hosts.count(host) > 1}):
        yield ((("agents", "urls"), f"must name one agent a host, {host} has several"),)
