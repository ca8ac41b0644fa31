"""Commands of other distributions, through the entry points `foresight.commands`."""

from pathlib import Path

import pytest

from runtime.cli.main import run
from runtime.cli.reference import commands

MODULE = """
import typer

group = typer.Typer(help="Tools of somebody else.")

@group.command()
def hello(name: str) -> None:
    print("hello", name)

@group.command()
def fail() -> None:
    raise ValueError("no luck")

def alone(times: int = 2) -> None:
    "One command without a group."
    print("alone" * times)

number = 3
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Install":
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "somebody_else.py").write_text(MODULE)
    return Install(tmp_path)


class Install:
    """A distribution as an installer leaves it behind."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "somebody_else-1.0.dist-info"
        self._folder.mkdir()
        (self._folder / "METADATA").write_text("Name: somebody-else\nVersion: 1.0\n")

    def __call__(self, *entry_points: str) -> None:
        lines = ("[foresight.commands]", *entry_points)
        (self._folder / "entry_points.txt").write_text("\n".join(lines))


def test_a_group_is_mounted_with_its_commands(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("tools = somebody_else:group")
    assert run(["tools", "hello", "you"]) == 0
    assert capsys.readouterr().out == "hello you\n"
    assert run(["tools", "fail"]) == 1
    assert capsys.readouterr().err == "foresight: no luck\n"
    assert run(["--help"]) == 0
    assert "Tools of somebody else." in capsys.readouterr().out


def test_a_function_is_one_command(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("alone = somebody_else:alone")
    assert run(["alone", "--times", "1"]) == 0
    assert capsys.readouterr().out == "alone\n"
    assert run(["alnoe"]) == 2
    assert "Did you mean 'alone'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("not_there:app", "ModuleNotFoundError: No module named 'not_there'"),
        ("somebody_else:absent", "AttributeError"),
        ("somebody_else:number", "TypeError: int is neither a typer.Typer nor a function"),
    ],
)
def test_a_broken_one_is_one_line_and_disturbs_nobody(
    target: str, reason: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(f"broken = {target}", "tools = somebody_else:group")
    assert run(["--help"]) == 0
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("foresight: the command 'broken' of somebody-else cannot be loaded: ")
    assert reason in line
    for word in ("bench", "tools", "doctor"):
        assert word in captured.out
    assert "broken" not in captured.out
    assert run(["tools", "hello", "you"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["broken"]) == 2


def test_a_command_of_the_product_is_never_replaced(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("config = somebody_else:alone")
    assert run(["config"]) == 0
    assert "alonealone" not in capsys.readouterr().out


def test_the_page_of_commands_has_those_of_this_distribution_only(install: Install) -> None:
    install("tools = somebody_else:group")
    words = {command.words for command in commands()}
    assert "foresight bench peers" in words
    assert not any(each.startswith("foresight tools") for each in words)
