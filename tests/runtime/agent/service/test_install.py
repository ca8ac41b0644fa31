"""What `foresight agent install` and `certs` write and print, below a temporary folder."""

import os
from pathlib import Path

import pytest
import typer

from runtime.agent.service.documents import default_agent_toml
from runtime.agent.service.install import (
    carry_out,
    command_problem,
    plan,
    service_files,
)
from runtime.agent.service.settings import load_agent_config
from runtime.cli import agent_setup

TRUE = Path("/usr/bin/true")
PLACES = (
    "etc/systemd/system/foresight-agent.service",
    "etc/sysusers.d/foresight.conf",
    "etc/tmpfiles.d/foresight.conf",
    "etc/foresight/agent.toml",
)


@pytest.fixture
def agent_app() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    agent_setup.add_to(app)
    return app


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def install(app: typer.Typer, prefix: Path, *options: str) -> None:
    arguments = ["install", "--prefix", str(prefix), "--command", str(TRUE), *options]
    app(arguments, standalone_mode=False)


def test_install_writes_every_file_once(
    agent_app: typer.Typer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    previous = os.umask(0o077)
    try:
        install(agent_app, tmp_path)
    finally:
        os.umask(previous)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [f"new        {tmp_path / place}" for place in PLACES]
    assert lines[4:] == [
        "next, as root:",
        "  systemd-sysusers foresight.conf",
        "  systemd-tmpfiles --create foresight.conf",
        "  systemctl daemon-reload",
        "  systemctl enable --now foresight-agent",
    ]
    assert {(tmp_path / place).stat().st_mode & 0o777 for place in PLACES} == {0o644}
    assert sorted(contents(tmp_path)) == sorted(PLACES)
    unit = (tmp_path / PLACES[0]).read_text()
    assert f"\nExecStart={TRUE} agent run --config /etc/foresight/agent.toml\n" in unit
    assert f"\nExecStopPost={TRUE} agent restore --config /etc/foresight/agent.toml\n" in unit
    assert "/usr/bin/foresight" not in unit
    assert load_agent_config(tmp_path / PLACES[3]) == load_agent_config(None)
    install(agent_app, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    states = ["unchanged", "unchanged", "unchanged", "kept"]
    assert [line.split()[0] for line in lines[:4]] == states


def test_a_dry_run_shows_every_line_and_writes_nothing(
    agent_app: typer.Typer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(agent_app, tmp_path, "--dry-run")
    shown = capsys.readouterr().out
    assert shown.endswith("dry run: nothing was written\n")
    for file in service_files(TRUE):
        for line in file.content.splitlines():
            assert f"\n+{line}\n" in shown
    assert contents(tmp_path) == {}


def test_a_changed_file_is_shown_and_replaced_only_by_force(
    agent_app: typer.Typer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(agent_app, tmp_path)
    unit, sysusers = tmp_path / PLACES[0], tmp_path / PLACES[1]
    ours = unit.read_text()
    unit.write_text(ours.replace("WatchdogSec=30", "WatchdogSec=99"))
    sysusers.unlink()
    before = contents(tmp_path)
    capsys.readouterr()
    with pytest.raises(FileExistsError, match="1 of 4 files differ, nothing was written"):
        install(agent_app, tmp_path)
    shown = capsys.readouterr().out
    assert "\n-WatchdogSec=99\n+WatchdogSec=30\n" in shown
    assert contents(tmp_path) == before
    install(agent_app, tmp_path, "--force")
    assert unit.read_text() == ours
    assert sysusers.exists()


def test_a_mode_that_lets_others_write_is_a_difference(tmp_path: Path) -> None:
    carry_out(plan(service_files(TRUE), tmp_path))
    unit = tmp_path / PLACES[0]
    unit.chmod(0o666)
    step = plan(service_files(TRUE), tmp_path)[0]
    assert (step.state, step.difference()) == ("different", "mode 0666 becomes 0644\n")
    carry_out([step])
    assert unit.stat().st_mode & 0o777 == 0o644


def test_the_configuration_is_the_operators(agent_app: typer.Typer, tmp_path: Path) -> None:
    configuration = tmp_path / PLACES[3]
    configuration.parent.mkdir(parents=True)
    configuration.write_text("[listen]\nport = 1\n")
    install(agent_app, tmp_path, "--force")
    assert configuration.read_text() == "[listen]\nport = 1\n"


def test_a_link_in_the_way_is_replaced_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    unit = tmp_path / PLACES[0]
    unit.parent.mkdir(parents=True)
    unit.symlink_to(elsewhere)
    carry_out(plan(service_files(TRUE), tmp_path))
    assert elsewhere.read_text() == "mine"
    assert not unit.is_symlink()


def test_the_agent_toml_is_the_commented_default(tmp_path: Path) -> None:
    carry_out(plan(service_files(TRUE), tmp_path))
    assert (tmp_path / PLACES[3]).read_text() == default_agent_toml()


@pytest.mark.parametrize("command", ["foresight", "/opt/my tools/foresight", "/opt/100%", "/a\nb"])
def test_a_command_that_systemd_would_misread_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match="must be an absolute path without blanks"):
        service_files(Path(command))


def test_a_command_that_the_service_cannot_start_is_named() -> None:
    assert command_problem(TRUE) is None
    assert "is no program" in str(command_problem(Path("/etc/passwd")))
    assert "is no program" in str(command_problem(Path("/nowhere/foresight")))


def test_a_program_in_a_folder_that_the_unit_hides_is_named(tmp_path: Path) -> None:
    hidden, visible = tmp_path / "home", tmp_path / "opt"
    hidden.mkdir()
    visible.mkdir()
    (hidden / "python").write_text("")
    (visible / "python").symlink_to(hidden / "python")
    script = visible / "foresight"
    for interpreter, is_hidden in (
        ("/usr/bin/true", False),
        (hidden / "python", True),
        (visible / "python", True),
    ):
        script.write_text(f"#!{interpreter} -I\n")
        script.chmod(0o755)
        problem = command_problem(script, [hidden])
        assert (problem is not None) == is_hidden
        if problem is not None:
            assert f"the service cannot see into {hidden}" in problem
    assert command_problem(script, [visible]) is not None


def test_install_on_this_host_refuses_a_command_that_is_missing(agent_app: typer.Typer) -> None:
    with pytest.raises(ValueError, match="/nowhere/foresight is no program"):
        agent_app(["install", "--command", "/nowhere/foresight"], standalone_mode=False)


def test_certs_for_a_cluster(
    agent_app: typer.Typer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cluster"
    arguments = ["certs", str(folder), "--agent", "worker1,10.0.0.7", "--controller", "driver"]
    agent_app(arguments, standalone_mode=False)
    assert capsys.readouterr().out.splitlines() == [
        f"authority   {folder}/ca.pem; {folder}/ca.key goes nowhere else",
        "agent       worker1: copy to that host, owned by root",
        f"  {folder}/ca.pem to /etc/foresight/ca.pem",
        f"  {folder}/worker1.pem to /etc/foresight/agent.pem",
        f"  {folder}/worker1.key to /etc/foresight/agent.key (mode 0600)",
        "controller  driver: copy to its host, owned by its user",
        f"  {folder}/ca.pem",
        f"  {folder}/driver.pem",
        f"  {folder}/driver.key (mode 0600)",
        '  and name it in each agent.toml: allowed = ["driver"] in [tls]',
    ]
    before = contents(folder)
    agent_app(["certs", str(folder), "--agent", "worker2"], standalone_mode=False)
    assert capsys.readouterr().out.startswith(f"authority   {folder}/ca.pem, as it was\n")
    after = contents(folder)
    assert set(after) - set(before) == {"worker2.pem", "worker2.key"}
    assert all(after[name] == text for name, text in before.items())


@pytest.mark.parametrize(
    "options",
    [
        ["--agent", "worker1", "--agent", "worker1,10.0.0.7"],
        ["--agent", "worker1", "--controller", "worker1"],
        ["--agent", "worker1", "--agent", "bad host"],
        ["--agent", "worker1", "--agent", "worker2,,"],
        ["--agent", "worker1", "--controller", "../x"],
        ["--agent", "worker1", "--controller", "ca"],
        [],
    ],
)
def test_certs_are_made_all_or_none(
    agent_app: typer.Typer, tmp_path: Path, options: list[str]
) -> None:
    with pytest.raises((ValueError, typer.BadParameter)):
        agent_app(["certs", str(tmp_path / "cluster"), *options], standalone_mode=False)
    assert not (tmp_path / "cluster").exists()


def test_certs_never_replace_a_certificate(agent_app: typer.Typer, tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    agent_app(["certs", str(folder), "--agent", "worker1"], standalone_mode=False)
    before = contents(folder)
    with pytest.raises(FileExistsError, match="never overwritten"):
        agent_app(
            ["certs", str(folder), "--agent", "worker2", "--agent", "worker1"],
            standalone_mode=False,
        )
    assert contents(folder) == before
