"""The charts of the page and of reports on recorded runs; metrics say where they are drawn."""

from runtime.metrics.facts import Facts
from runtime.report.charts import Chart, ChartBand, ChartLimit


def page_charts(facts: Facts) -> tuple[Chart, ...]:
    """In their order."""
    return (
        Chart(
            id="arrivals",
            title="Arrival rate",
            note="items per second",
            band=ChartBand(
                "80 % range",
                "as far as eight of ten recent forecasts were off",
                "arrivals/low",
                "arrivals/high",
            ),
        ),
        Chart(
            id="latency",
            title="Latency",
            note="seconds; red: above the target",
            cap=3.0,
            limit=ChartLimit("target", facts.target_latency_s),
            marks="latency/late",
        ),
        Chart(id="executors", title="Executors", note="count", integers=True),
        Chart(id="frequency", title="CPU frequency", note="GHz", format="hertz", near=True),
        Chart(
            id="power",
            title="Power of the hosts",
            note="watts, by how it is known",
            hides_missing=True,
            limit=ChartLimit("cap", facts.power_cap_w),
        ),
        Chart(
            id="cost",
            title="Cost of the plan",
            note="weighted, over the horizon",
            stacked=True,
            cap=4.0,
        ),
    )
