"""What holds for the whole tree: imports have a tool of their own, names are checked here."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("forecasting", "energy", "mpc", "runtime", "benchmarks")


def public_classes(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def shared_names(sources: dict[str, str]) -> dict[str, list[str]]:
    """By name, the modules that define a public class of that name, where there are several."""
    places = defaultdict(list)
    for module, source in sources.items():
        for name in public_classes(source):
            places[name].append(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def test_no_two_public_classes_share_a_name() -> None:
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    assert len(sources) > 300
    assert shared_names(sources) == {}


def test_a_shared_name_would_be_seen() -> None:
    one, other = "class Row:\n    pass\n", "class _Row:\n    pass\nclass Row:\n    pass\n"
    assert shared_names({"a": one, "b": other}) == {"Row": ["a", "b"]}
    assert shared_names({"a": one, "b": "class _Row:\n    class Row:\n        pass\n"}) == {}


def test_the_runtime_imports_no_benchmark() -> None:
    """Nor names one in a string, where the linter of imports does not look."""
    naming = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "runtime").rglob("*.py"))
        if "benchmarks." in path.read_text(encoding="utf-8")
    ]
    assert naming == []
