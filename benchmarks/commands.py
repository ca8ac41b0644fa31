"""`foresight bench`: the commands of all benchmarks, each defined beside what it starts.

Mounted through the entry point `foresight.commands`. The benchmarks are imported when one of their
commands is called or listed, so that `foresight --help` does not wait for them.
"""

from importlib import import_module

import typer
from typer._click import Command, Context
from typer.core import TyperGroup

MODULES = (
    "benchmarks.mpc_paper.command",
    "benchmarks.thesis.command",
    "benchmarks.edf.command",
    "benchmarks.mdp.command",
    "benchmarks.decentralised.command",
    "benchmarks.peers.command",
    "benchmarks.hft.commands",
    "benchmarks.hft.measure.commands",
    "benchmarks.parts.commands",
)
"""Each has `add_to(app)`, which registers its commands."""


class _BenchGroup(TyperGroup):
    def list_commands(self, ctx: Context) -> list[str]:
        self._assemble()
        return super().list_commands(ctx)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        self._assemble()
        return super().get_command(ctx, cmd_name)

    def _assemble(self) -> None:
        if not self.commands:
            assembled = typer.Typer()
            for name in MODULES:
                import_module(name).add_to(assembled)
            self.commands.update(typer.main.get_group(assembled).commands)


app = typer.Typer(cls=_BenchGroup, help="Measure and compare.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure and compare."""
