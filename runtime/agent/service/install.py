"""The files that make the agent a service of a host: what they hold, and writing them safely.

Every file is replaced whole or not at all. The configuration belongs to the operator: it is written
where there is none and never touched again. Starting the service is left to the operator.
"""

import difflib
import os
import re
import stat
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from runtime.agent.service.documents import default_agent_toml
from runtime.agent.service.settings import DEFAULT_PATH
from runtime.files import replace_file

State = Literal["new", "unchanged", "kept", "different"]

UNIT = "foresight-agent.service"
_GROUP = "sysusers.d/foresight.conf"
_FOLDERS = "tmpfiles.d/foresight.conf"
NEXT_COMMANDS = (
    "systemd-sysusers foresight.conf",
    "systemd-tmpfiles --create foresight.conf",
    "systemctl daemon-reload",
    "systemctl enable --now foresight-agent",
)

_PACKAGED_COMMAND = "/usr/bin/foresight"
# systemd gives spaces, quotes, "%" and "$" a meaning; no path needs them.
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._+/-]+")
# ProtectHome= and PrivateTmp= of the unit hide these from the service.
HIDDEN = (Path("/home"), Path("/root"), Path("/run/user"), Path("/tmp"), Path("/var/tmp"))


@dataclass(frozen=True, slots=True)
class InstalledFile:
    path: Path
    """On the host, below no prefix."""
    content: str
    mode: int = 0o644
    operators: bool = False
    """The operator's own as soon as it exists."""


@dataclass(frozen=True, slots=True)
class InstallStep:
    """One file beside what is there now."""

    file: InstalledFile
    place: Path
    state: State
    present: str | None
    present_mode: int | None

    def difference(self) -> str:
        """What would change, as a unified diff; nothing where nothing would."""
        if self.state in ("unchanged", "kept"):
            return ""
        lines: list[str] = []
        if self.present_mode is not None and self.present_mode != self.file.mode:
            lines.append(f"mode {self.present_mode:04o} becomes {self.file.mode:04o}\n")
        lines += difflib.unified_diff(
            (self.present or "").splitlines(keepends=True),
            self.file.content.splitlines(keepends=True),
            "/dev/null" if self.present is None else str(self.place),
            str(self.place),
        )
        return "".join(lines)


def default_command() -> Path:
    """The `foresight` that was installed with the Python that runs this."""
    return Path(sysconfig.get_path("scripts"), "foresight")


def command_problem(command: Path, hidden_folders: Sequence[Path] = HIDDEN) -> str | None:
    """Why the service could not start this command on this host; None if it could."""
    if not (command.is_file() and os.access(command, os.X_OK)):
        return f"{command} is no program: --command names another"
    for path in (command, command.resolve(), *_interpreters(command)):
        hidden = next((folder for folder in hidden_folders if path.is_relative_to(folder)), None)
        if hidden is not None:
            return (
                f"{command} needs {path}, and the service cannot see into {hidden}: "
                "install foresight elsewhere, such as in /opt/foresight"
            )
    return None


def service_files(command: Path) -> tuple[InstalledFile, ...]:
    """Everything that is installed, the unit with the command it starts."""
    if not _PLAIN_PATH.fullmatch(str(command)):
        raise ValueError(f"command {str(command)!r} must be an absolute path without blanks")
    unit = _packaged(UNIT).replace(f"={_PACKAGED_COMMAND} ", f"={command} ")
    return (
        InstalledFile(Path("/etc/systemd/system", UNIT), unit),
        InstalledFile(Path("/etc", _GROUP), _packaged(_GROUP)),
        InstalledFile(Path("/etc", _FOLDERS), _packaged(_FOLDERS)),
        InstalledFile(DEFAULT_PATH, default_agent_toml(), operators=True),
    )


def plan(wanted: Sequence[InstalledFile], prefix: Path) -> tuple[InstallStep, ...]:
    """What each file would mean below a prefix, "/" on the host itself; nothing is written."""
    return tuple(_step(file, prefix / file.path.relative_to("/")) for file in wanted)


def carry_out(steps: Sequence[InstallStep]) -> None:
    """Write what is new or different."""
    for step in steps:
        if step.state in ("new", "different"):
            step.place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            replace_file(step.place, step.file.content.encode(), step.file.mode, durable=True)


def _step(file: InstalledFile, place: Path) -> InstallStep:
    if not os.path.lexists(place):
        return InstallStep(file, place, "new", None, None)
    if file.operators:
        return InstallStep(file, place, "kept", None, None)
    present = place.read_bytes().decode("utf-8", "replace")
    mode = stat.S_IMODE(place.stat().st_mode)
    same = (present, mode) == (file.content, file.mode)
    return InstallStep(file, place, "unchanged" if same else "different", present, mode)


def _packaged(name: str) -> str:
    return (files("runtime.agent.service") / "units" / name).read_text(encoding="utf-8")


def _interpreters(command: Path) -> tuple[Path, ...]:
    """The program in the first line of a script, as written and where its links lead."""
    with command.open("rb") as file:
        first = file.readline(1024)
    words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
    return (Path(words[0]), Path(words[0]).resolve()) if words else ()
