"""What the options of one policy must satisfy together; `runtime.config.rules` asks for it."""

from collections.abc import Iterator

from runtime.config.policies import Policies
from runtime.config.policies.decentralised import Decentralised
from runtime.config.policies.thesis import QLearning
from runtime.config.strict import Contradiction, Key


def policy_contradictions(policies: Policies, target_ms: float) -> Iterator[Contradiction]:
    yield from _latency_states("q-learning", policies.q_learning, target_ms)
    yield from _latency_states("value-iteration", policies.value_iteration, target_ms)
    search, ratio = policies.parameter_search, policies.spark_ratio
    if search.min_breaches > search.max_breaches:
        yield _at_most(
            ("policies", "parameter-search", "min_breaches"),
            search.min_breaches,
            ("policies", "parameter-search", "max_breaches"),
            search.max_breaches,
        )
    if ratio.lower > ratio.upper:
        yield _at_most(
            ("policies", "spark-ratio", "lower"),
            ratio.lower,
            ("policies", "spark-ratio", "upper"),
            ratio.upper,
        )
    yield from _loads(policies.decentralised)


def _latency_states(name: str, table: QLearning, target_ms: float) -> Iterator[Contradiction]:
    """The target must fall between the first latency state and the last."""
    target: Key = ("slo", "latency_ms")
    granularity_ms, most_ms = table.latency_granularity_ms, table.max_latency_ms
    if granularity_ms is not None and granularity_ms > target_ms:
        key = ("policies", name, "latency_granularity_ms")
        yield _at_most(key, granularity_ms, target, target_ms)
    if most_ms is not None and most_ms <= target_ms:
        key = ("policies", name, "max_latency_ms")
        yield (
            (key, f"must be more than slo.latency_ms = {target_ms:g}"),
            (target, f"must be less than {'.'.join(key)} = {most_ms:g}"),
        )


def _loads(table: Decentralised) -> Iterator[Contradiction]:
    here = ("policies", "decentralised")
    lower, target, upper = ((*here, f"{name}_load") for name in ("lower", "target", "upper"))
    if table.lower_load > table.target_load:
        yield _at_most(lower, table.lower_load, target, table.target_load)
    if table.target_load > table.upper_load:
        yield _at_most(target, table.target_load, upper, table.upper_load)


def _at_most(low_key: Key, low: float, high_key: Key, high: float) -> Contradiction:
    return (
        (low_key, f"must be at most {'.'.join(high_key)} = {high:g}"),
        (high_key, f"must be at least {'.'.join(low_key)} = {low:g}"),
    )
