"""The files that are generated from declarations; `make docs` writes them."""

from collections.abc import Callable
from pathlib import Path

from runtime.agent.service.documents import agent_configuration_page
from runtime.cli.reference import commands_page
from runtime.config.documents import configuration_page, default_toml
from runtime.metrics.documents import events_page, metrics_page
from runtime.metrics.monitoring import grafana_dashboard

GENERATED: dict[Path, Callable[[], str]] = {
    Path("foresight.toml"): default_toml,
    Path("docs/configuration.md"): configuration_page,
    Path("docs/agent-configuration.md"): agent_configuration_page,
    Path("docs/commands.md"): commands_page,
    Path("docs/metrics.md"): metrics_page,
    Path("docs/events.md"): events_page,
    Path("examples/monitoring/grafana.json"): grafana_dashboard,
}


def write_generated(root: Path) -> None:
    for path, text in GENERATED.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    write_generated(Path.cwd())
