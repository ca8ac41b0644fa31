"""The files that `make docs` generates from the schemas, the commands and the events."""

from collections.abc import Callable
from pathlib import Path

from runtime.agent.service.documents import agent_configuration_page
from runtime.cli.reference import commands_page
from runtime.config.documents import configuration_page, default_toml
from runtime.control.event_page import events_page

GENERATED: dict[Path, Callable[[], str]] = {
    Path("foresight.toml"): default_toml,
    Path("docs/configuration.md"): configuration_page,
    Path("docs/agent-configuration.md"): agent_configuration_page,
    Path("docs/commands.md"): commands_page,
    Path("docs/events.md"): events_page,
}


def write_generated(root: Path) -> None:
    for path, text in GENERATED.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    write_generated(Path.cwd())
