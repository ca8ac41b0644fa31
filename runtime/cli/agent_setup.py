"""`foresight agent certs | check | install`: what an operator does once, before the agent runs."""

from pathlib import Path

import typer

from runtime.cli.parameters import Overrides


def add_to(agent_app: typer.Typer) -> None:
    """Register the commands of this file."""
    agent_app.command()(certs)
    agent_app.command()(check)
    agent_app.command()(install)


def certs(
    folder: Path = typer.Argument(
        ..., metavar="DIR", file_okay=False, help="Where the authority is or will be."
    ),
    agents: list[str] | None = typer.Option(
        None,
        "--agent",
        metavar="HOST[,IP...]",
        help="A worker host, by all names and addresses controllers call it (repeatable).",
    ),
    controllers: list[str] | None = typer.Option(
        None, "--controller", metavar="NAME", help="A controller (repeatable)."
    ),
    days: int = typer.Option(825, min=1, max=3650, help="How long the certificates are valid."),
) -> None:
    """Make certificates for agents and controllers, and an authority if DIR has none."""
    from runtime.agent.service.certs import authority_files, check_issue, issue, make_authority

    hosts = [[host.strip() for host in agent.split(",")] for agent in agents or ()]
    names = [each[0] for each in hosts] + (controllers or [])
    if not names:
        raise typer.BadParameter("nothing to make: give --agent or --controller")
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(f"{name!r} is given twice")
    for each in hosts:
        check_issue(folder, each[0], each, "agent")
    for name in controllers or ():
        check_issue(folder, name, (), "controller")

    authority = authority_files(folder)
    if authority.certificate.exists():
        typer.echo(f"authority   {authority.certificate}, as it was")
    else:
        make_authority(folder, "foresight-authority")
        typer.echo(f"authority   {authority.certificate}; {authority.key} goes nowhere else")
    for each in hosts:
        made = issue(folder, each[0], each, "agent", days)
        typer.echo(f"agent       {each[0]}: copy to that host, owned by root")
        typer.echo(f"  {authority.certificate} to /etc/foresight/ca.pem")
        typer.echo(f"  {made.certificate} to /etc/foresight/agent.pem")
        typer.echo(f"  {made.key} to /etc/foresight/agent.key (mode 0600)")
    for name in controllers or ():
        made = issue(folder, name, (), "controller", days)
        typer.echo(f"controller  {name}: copy to its host, owned by its user")
        typer.echo(f"  {authority.certificate}")
        typer.echo(f"  {made.certificate}")
        typer.echo(f"  {made.key} (mode 0600)")
        typer.echo(f'  and name it in each agent.toml: allowed = ["{name}"] in [tls]')


def check(
    config_file: Path = typer.Argument(..., metavar="CONFIG", help="The TOML file."),
    overrides: Overrides = None,
) -> None:
    """Validate the configuration of an agent, and who can change its files."""
    from runtime.agent.service.settings import load_agent_config
    from runtime.agent.wire.tls import TlsFiles, server_context
    from runtime.agent.wire.trust import check_unwritable

    config = load_agent_config(config_file, overrides or ())
    check_unwritable(config_file)
    files = TlsFiles.of(config.tls)
    if files is not None:
        server_context(files)
    typer.echo(f"{config_file}: valid")


def install(
    dry_run: bool = typer.Option(False, "--dry-run", help="Show every file and write nothing."),
    prefix: Path = typer.Option(
        Path("/"), metavar="DIR", help="Write below this folder instead of the root."
    ),
    command: Path | None = typer.Option(
        None, metavar="PATH", help="The foresight that the service starts."
    ),
    force: bool = typer.Option(
        False, "--force", help="Replace files that differ; never agent.toml."
    ),
) -> None:
    """Write the systemd unit, its group and folders, and a commented agent.toml."""
    from runtime.agent.service.install import (
        NEXT_COMMANDS,
        carry_out,
        command_problem,
        default_command,
        plan,
        service_files,
    )

    started = command or default_command()
    if prefix == Path("/") and (problem := command_problem(started)) is not None:
        if not dry_run:
            raise ValueError(problem)
        typer.echo(f"warning: {problem}", err=True)
    steps = plan(service_files(started), prefix)
    different = [step for step in steps if step.state == "different"]
    refused = bool(different) and not force and not dry_run
    for step in steps:
        typer.echo(f"{step.state:<10} {step.place}")
        if dry_run or (refused and step.state == "different"):
            typer.echo(step.difference(), nl=False)
    if refused:
        raise FileExistsError(
            f"{len(different)} of {len(steps)} files differ, nothing was written: "
            "--force replaces them"
        )
    if dry_run:
        typer.echo("dry run: nothing was written")
        return
    carry_out(steps)
    typer.echo("next, as root:")
    for line in NEXT_COMMANDS:
        typer.echo(f"  {line}")
