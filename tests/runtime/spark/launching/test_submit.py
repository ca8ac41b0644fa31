"""An application under `foresight submit` sees what `python app.py` would give it."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from pyspark.sql import SparkSession

from runtime.cli import submit as command
from runtime.config import Config, load_config
from runtime.spark.launching import launcher
from runtime.spark.launching.launcher import Launch, hooked, is_connect, recommended_options
from runtime.spark.launching.submit import refusal, run_application, submit_arguments
from runtime.spark.scaling.scheduler import ScalingRefused


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put back afterwards what a submission sets for its process."""
    for name in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name in ("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED"):
        monkeypatch.delenv(name, raising=False)


def application(folder: Path, text: str) -> Path:
    path = folder / "app.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit()", 0),
        ("raise SystemExit('enough')", 1),
        ("raise ValueError('no')", 1),
        ("this is no python", 1),
        ("raise KeyboardInterrupt", 130),
    ],
)
def test_the_exit_code_is_the_applications(tmp_path: Path, text: str, code: int) -> None:
    assert run_application(application(tmp_path, text), (), Config()) == code


def test_it_is_main_with_its_arguments_and_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "neighbour_of_app.py").write_text("WORD = 'found'")
    path = application(
        tmp_path,
        "import sys, neighbour_of_app\nprint(__name__, sys.argv, neighbour_of_app.WORD)\n",
    )
    before = list(sys.argv), list(sys.path)
    try:
        assert run_application(path, ("--config", "x", "-h"), Config()) == 0
    finally:
        sys.modules.pop("neighbour_of_app", None)
    assert (list(sys.argv), list(sys.path)) == before
    captured = capsys.readouterr()
    assert captured.out == f"__main__ {[str(path), '--config', 'x', '-h']} found\n"
    assert "made no SparkSession" in captured.err


def test_a_traceback_begins_in_the_application(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = application(tmp_path, "def f():\n    raise ValueError('deep')\n\nf()\n")
    assert run_application(path, (), Config()) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert str(path) in lines[1]
    assert "runpy" not in "\n".join(lines)
    assert "ValueError: deep" in lines


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("app.jar", "a Scala or Java application"),
        ("app.R", "an R application"),
        ("none.py", "is no file"),
    ],
)
def test_what_is_no_pyspark_application_gets_one_sentence(
    tmp_path: Path, name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_application(tmp_path / name, (), Config()) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert words in lines[0]


def test_a_connect_client_gets_one_sentence(tmp_path: Path) -> None:
    path = application(tmp_path, "")
    assert "Spark Connect client" in (refusal(path, {"SPARK_REMOTE": "sc://host"}) or "")
    assert refusal(path, {}) is None


def test_what_makes_a_connect_session() -> None:
    assert is_connect({"spark.remote": "sc://h"}, {})
    assert is_connect({"spark.api.mode": "connect"}, {})
    assert is_connect({}, {"SPARK_API_MODE": "Connect"})
    assert not is_connect({"spark.api.mode": "classic"}, {"SPARK_API_MODE": "connect"})
    assert not is_connect({"spark.master": "local"}, {})


def test_options_go_to_the_jvm_as_those_of_spark_submit() -> None:
    assert submit_arguments(None, {}, None) == "pyspark-shell"
    text = submit_arguments("spark://h:7077", {"spark.x": "a b"}, None)
    assert text == "--master spark://h:7077 --conf 'spark.x=a b' pyspark-shell"
    assert (
        submit_arguments("m", {}, "--name n pyspark-shell") == "--master m --name n pyspark-shell"
    )


def test_recommended_options_are_added_unless_they_are_set() -> None:
    config = load_config(None, ["executors.max=5", "horizon.step_s=2"])
    added = recommended_options(config, {}, lambda: "-XX:Archive")
    assert added["spark.executor.cores"] == "1"
    assert added["spark.cores.max"] == "5"
    assert "spark.locality.wait" not in added, "tasks stay with their state"
    assert added["spark.executor.extraJavaOptions"] == "-XX:Archive"
    assert added["spark.sql.streaming.noDataProgressEventInterval"] == "2000"

    on_pods = recommended_options(config, {"spark.master": "k8s://https://host"}, lambda: None)
    assert "spark.cores.max" not in on_pods
    assert on_pods["spark.executor.instances"] == "1"

    known = {
        "spark.executor.cores": "2",
        "spark.decommission.enabled": "false",
        "spark.executor.extraJavaOptions": "-Xss4m",
        "spark.dynamicAllocation.enabled": "true",
    }
    added = recommended_options(config, known, lambda: pytest.fail("the user's options stay"))
    assert not added.keys() & known.keys()
    assert added["spark.cores.max"] == "10"
    assert recommended_options(config, {}, lambda: None).keys() == (
        recommended_options(
            load_config(None, ["spark.class_archive=false"]), {}, lambda: pytest.fail("not asked")
        ).keys()
    )


class FakeController:
    def __init__(self, session: Any) -> None:
        self.session = session
        self.stopped = 0

    def stop(self) -> None:
        self.stopped += 1


class FakeSpark:
    """Sessions that pyspark's builder seems to make."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.context: Any = object()
        self.stopped = 0
        self.options: dict[str, str] = {}
        monkeypatch.setattr(SparkSession.Builder, "getOrCreate", self._get_or_create())
        monkeypatch.setattr(launcher, "_options_set", dict)

    def _get_or_create(self) -> Callable[[Any], Any]:
        def get_or_create(builder: Any) -> Any:
            self.options = dict(builder._options)
            return SimpleNamespace(sparkContext=self.context, stop=self._stop)

        return get_or_create

    def _stop(self) -> None:
        self.stopped += 1


def test_the_session_is_attached_once_and_again_after_a_new_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark, made = FakeSpark(monkeypatch), []

    def attach(session: Any) -> Any:
        made.append(FakeController(session))
        return made[-1]

    launch = Launch(attach)
    with hooked(launch, lambda known: {"spark.added": "1"} if "spark.added" not in known else {}):
        SparkSession.builder.appName("a").getOrCreate()
        assert spark.options == {"spark.app.name": "a", "spark.added": "1"}
        SparkSession.builder.getOrCreate()
        assert len(made) == 1
        spark.context = object()
        SparkSession.builder.getOrCreate()
    launch.stop()
    assert [controller.stopped for controller in made] == [1, 1]


def test_pyspark_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeSpark(monkeypatch)
    before = SparkSession.Builder.getOrCreate
    with hooked(Launch(lambda session: pytest.fail("attached")), lambda known: {}):
        assert SparkSession.Builder.getOrCreate is not before
    assert SparkSession.Builder.getOrCreate is before


def test_a_refusal_ends_the_session_and_is_told_even_if_the_application_catches_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spark = FakeSpark(monkeypatch)

    def attach(session: Any, config: Config) -> Any:
        raise ScalingRefused("two allocators")

    monkeypatch.setattr("runtime.spark.launching.submit.attach", attach)
    make = "from pyspark.sql import SparkSession\n"
    config = load_config(None, ["spark.class_archive=false"])
    caught = f"{make}try:\n    SparkSession.builder.getOrCreate()\nexcept Exception:\n    pass\n"
    for text in (f"{make}SparkSession.builder.getOrCreate()\n", caught):
        assert run_application(application(tmp_path, text), (), config) == 2
        assert capsys.readouterr().err == "foresight: two allocators\n"
    assert spark.stopped == 2


def test_a_connect_builder_is_refused_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    FakeSpark(monkeypatch)
    launch = Launch(lambda session: pytest.fail("attached"))
    with hooked(launch, lambda known: {}), pytest.raises(ScalingRefused, match="Connect"):
        SparkSession.builder.remote("sc://nowhere").getOrCreate()
    assert launch.refusal is not None


def test_the_command_leaves_the_applications_options_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[tuple[Any, ...]] = []

    def run(*arguments: Any) -> int:
        calls.append(arguments)
        return 5

    monkeypatch.setattr("runtime.spark.launching.submit.run_application", run)
    app = typer.Typer()

    @app.callback()
    def root() -> None:
        pass

    command.add_to(app)
    words = ["submit", "--set", "executors.max=3", "--master", "spark://h", "--conf", "a=b=c"]
    code = app([*words, "app.py", "--config", "x", "--set", "y"], standalone_mode=False)
    assert code == 5
    ((path, arguments, config, master, options),) = calls
    assert (path, list(arguments)) == (Path("app.py"), ["--config", "x", "--set", "y"])
    assert isinstance(config, Config)
    assert config.executors.max == 3
    assert (master, options) == ("spark://h", {"a": "b=c"})
    with pytest.raises(typer.BadParameter):
        app(["submit", "--conf", "nonsense", "app.py"], standalone_mode=False)
