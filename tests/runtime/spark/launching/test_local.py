"""The cluster of `foresight submit --local`: what may be written, and what becomes of the
configuration. That it runs is tested on the examples."""

from pathlib import Path

import pytest

from runtime.cli.main import run
from runtime.config import Config, load_config
from runtime.spark.launching.local_application import (
    EMULATED_HOST_W,
    LocalSetting,
    core_share,
    fitted_config,
)
from runtime.spark.launching.submit import run_locally


@pytest.mark.parametrize(
    ("text", "hosts", "cpus"), [("1", 1, 1), ("4", 4, 1), ("2x2", 2, 2), ("16x64", 16, 64)]
)
def test_what_may_be_written(text: str, hosts: int, cpus: int) -> None:
    assert LocalSetting.parse(text) == LocalSetting(hosts, cpus)


@pytest.mark.parametrize(
    "text", ["", "0", "17", "2x", "x2", "2x65", "-1", "2x0", "2 x 2", "٣", "2X2"]
)
def test_what_may_not(text: str) -> None:
    with pytest.raises(ValueError, match="must be HOSTS or HOSTSxCPUS"):
        LocalSetting.parse(text)


def test_hosts_have_loopback_addresses_other_than_the_drivers() -> None:
    assert LocalSetting(3).names == ("127.0.0.2", "127.0.0.3", "127.0.0.4")


def test_no_more_executors_than_there_is_room_for() -> None:
    config = load_config(None, ["executors.max=12"])
    assert fitted_config(LocalSetting(2, 2), config).executors.max == 4
    assert fitted_config(LocalSetting(2, 3), config, executor_cores=2).executors.max == 2
    few = load_config(None, ["executors.max=3"])
    assert fitted_config(LocalSetting(2, 2), few) == few


@pytest.mark.parametrize(
    ("override", "cores", "words"),
    [
        ("executors.min=5", 1, "room for 4 executors, fewer than executors.min = 5"),
        ("executors.min=1", 3, "room for 0 executors"),
        ('agents.urls=["a=http://127.0.0.1:1"]', 1, "agents.urls must be left out"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    override: str, cores: int, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        fitted_config(LocalSetting(2, 2), load_config(None, [override]), cores)


def test_emulated_hosts_have_a_power() -> None:
    assert fitted_config(LocalSetting(3), Config()).power.full_power_w is None
    emulated = LocalSetting(3, emulated=True)
    assert fitted_config(emulated, Config()).power.full_power_w == 3 * EMULATED_HOST_W
    known = load_config(None, ["power.full_power_w=240"])
    assert fitted_config(emulated, known).power.full_power_w == 240


def test_emulated_cpus_share_the_cores_of_the_machine() -> None:
    assert core_share(LocalSetting(2, 2), cores=2) == 0.5
    assert core_share(LocalSetting(2, 2), cores=64) == 1.0
    assert core_share(LocalSetting(16, 64), cores=1) == 0.02


def test_what_cannot_run_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setting = LocalSetting(1)
    assert run_locally(tmp_path / "none.py", (), Config(), setting) == 2
    path = tmp_path / "app.py"
    path.write_text("")
    config = load_config(None, ["executors.min=2"])
    assert run_locally(path, (), config, setting) == 2
    assert run_locally(path, (), Config(), setting, {"spark.executor.cores": "many"}) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("foresight: ") for line in lines] == [True] * 3


@pytest.mark.parametrize(
    ("local", "emulate", "master", "words"),
    [
        (None, True, None, "needs --local"),
        ("2", False, "spark://h:7077", "cannot stand beside --master"),
        ("two", False, None, "must be HOSTS or HOSTSxCPUS"),
    ],
)
def test_flags_that_do_not_go_together_are_wrong_usage(
    tmp_path: Path,
    local: str | None,
    emulate: bool,
    master: str | None,
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    flags = ["--emulate"] if emulate else []
    flags += [] if local is None else ["--local", local]
    flags += [] if master is None else ["--master", master]
    assert run(["submit", *flags, str(tmp_path / "app.py")]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
