"""Commands that distributions add to `foresight` through the entry points `foresight.commands`.

An entry point is a `typer.Typer`, which becomes a group of commands, or a function, which becomes
one command. It is loaded when it is called or listed, so that no other command waits for it, and
one that cannot be loaded is reported in one line and left out.
"""

import sys
from functools import cached_property
from typing import TYPE_CHECKING

import typer
from typer._click import Command, Context
from typer.core import TyperGroup

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS = "foresight.commands"


class ExtensibleGroup(TyperGroup):
    """The commands of its application, and those offered; a name of its own is never replaced."""

    distribution: str | None = None
    """The only distribution whose offers count; None for all of them."""

    @cached_property
    def _offered(self) -> "dict[str, EntryPoint]":
        """What has not been loaded yet."""
        from importlib.metadata import entry_points

        return {
            entry.name: entry
            for entry in entry_points(group=COMMANDS)
            if entry.name not in self.commands
            and self.distribution in (None, entry.dist and entry.dist.name)
        }

    def list_commands(self, ctx: Context) -> list[str]:
        for name in list(self._offered):
            self._load(ctx, name)
        return super().list_commands(ctx)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        if cmd_name not in self.commands:
            self._load(ctx, cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None:
            self.list_commands(ctx)  # all of them may be meant by a mistyped name
        return super().resolve_command(ctx, args)

    def _load(self, ctx: Context, name: str) -> None:
        entry = self._offered.pop(name, None)
        if entry is None:
            return
        try:
            self.commands[name] = _command(name, entry.load())
        except Exception as error:  # whatever the code of others raises
            if ctx.resilient_parsing:  # a shell completes and shows what it gets
                return
            origin = f" of {entry.dist.name}" if entry.dist else ""
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            print(
                f"foresight: the command {name!r}{origin} cannot be loaded: {reason}",
                file=sys.stderr,
            )


def _command(name: str, offered: object) -> Command:
    host = typer.Typer()
    if isinstance(offered, typer.Typer):
        host.add_typer(offered, name=name)
    elif callable(offered):
        host.command(name)(offered)
    else:
        raise TypeError(f"{type(offered).__name__} is neither a typer.Typer nor a function")
    return typer.main.get_group(host).commands[name]
