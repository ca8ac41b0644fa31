"""What Prometheus reads of a controller: every declared metric, with its unit in its name.

Counters begin with the process; gauges show the last step, or, of what is reported only when a
batch ends, the last that reported it. What is not known has no sample.
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.core import Metric as Family

from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.hosts import HostView
from runtime.metrics.metric import PREFIX, Catalogue, Metric
from runtime.metrics.state import RunState

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class ControllerMetrics:
    """Counts, and renders the text exposition."""

    def __init__(self, catalogue: Catalogue = CATALOGUE) -> None:
        self._counters = [metric for metric in catalogue.metrics if metric.type != "gauge"]
        self._sums = {metric.name: _initial(metric) for metric in self._counters}
        self._steps = 0

    def observe(self, state: RunState) -> None:
        """After the state has taken a record."""
        view = state.last_view
        self._steps += 1
        for metric in self._counters:
            sums = self._sums[metric.name]
            for label, value in metric.values(view).items():
                sums[label] = sums.get(label, 0.0) + value

    def render(self, state: RunState, hosts: tuple[HostView, ...], now_s: float) -> bytes:
        # A registry of its own: the process-wide one brings collectors nobody asked for.
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(lambda: self._families(state, hosts, now_s)))
        return generate_latest(registry)

    def _families(
        self, state: RunState, hosts: tuple[HostView, ...], now_s: float
    ) -> Iterator[Family]:
        facts, record = state.facts, state.record
        yield InfoMetricFamily(
            PREFIX,
            "The application under control.",
            value={
                "application": facts.application,
                "policy": facts.policy or "",
                "mode": record.mode if record is not None else "",
            },
        )
        gauges = state.metrics(state.view(hosts, now_s))
        for metric in state.catalogue.metrics:
            if metric.type == "gauge":
                yield _family(GaugeMetricFamily, metric, gauges[metric.name])
            elif metric.type == "counter":
                yield _family(CounterMetricFamily, metric, self._sums[metric.name])
            else:
                yield SummaryMetricFamily(
                    metric.full_name,
                    metric.help,
                    count_value=self._steps,
                    sum_value=self._sums[metric.name][""],
                )


def _initial(metric: Metric) -> dict[str, float]:
    return dict.fromkeys(metric.label_values if metric.label is not None else ("",), 0.0)


def _family(
    kind: type[GaugeMetricFamily] | type[CounterMetricFamily],
    metric: Metric,
    samples: Mapping[str, float],
) -> Family:
    labels = () if metric.label is None else (metric.label,)
    family = kind(metric.full_name, metric.help, labels=labels)
    for value, sample in samples.items():
        family.add_metric((value,) if labels else (), sample)
    return family


class _Collected:
    """A collector of what a function yields."""

    def __init__(self, families: Callable[[], Iterator[Family]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Family]:
        return self._families()
