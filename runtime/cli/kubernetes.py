"""`foresight kubernetes agent | driver | values`: manifests for Kubernetes, rendered from values.

They are printed and never applied: to pipe them into `kubectl apply -f -` is the operator's.
"""

from pathlib import Path
from typing import Annotated

import typer

from runtime.cli.parameters import Overrides

kubernetes_app = typer.Typer(
    help="Manifests for Kubernetes, on standard output.", no_args_is_help=True
)

ValuesFile = Annotated[
    Path, typer.Option("--values", metavar="FILE", help="What is known of the cluster, in TOML.")
]


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.add_typer(kubernetes_app, name="kubernetes")


@kubernetes_app.command()
def agent(values_file: ValuesFile, overrides: Overrides = None) -> None:
    """The agent of every worker node, as a DaemonSet."""
    from runtime.kubernetes.manifests import agent_manifests
    from runtime.kubernetes.values import load_values
    from runtime.yaml_text import yaml_documents

    image, values = load_values(values_file, overrides or ())
    typer.echo(yaml_documents(agent_manifests(image, values)), nl=False)


@kubernetes_app.command()
def driver(values_file: ValuesFile, overrides: Overrides = None) -> None:
    """One application with the controller in its driver, as a Deployment."""
    from runtime.kubernetes.manifests import driver_manifests
    from runtime.kubernetes.values import load_values
    from runtime.yaml_text import yaml_documents

    image, values = load_values(values_file, overrides or ())
    documents = driver_manifests(image, values, values_file.parent)
    typer.echo(yaml_documents(documents), nl=False)


@kubernetes_app.command("values")
def show_values() -> None:
    """Print commented values with every option and its default."""
    from runtime.config.render import commented_toml
    from runtime.kubernetes.values import Values

    head = "# Values for `foresight kubernetes agent` and `foresight kubernetes driver`.\n"
    typer.echo(commented_toml(Values, head), nl=False)
