"""The commands that read journals: what they print, write and refuse."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer

from mpc.values import ConfigurationSpace
from runtime.cli import explain, replay, report
from runtime.config import load_config
from runtime.control.journal import NAME, encode
from runtime.control.starts import CONFIG_NAME, Start, note_start, read_starts
from runtime.insight.explain import explanation
from runtime.insight.journals import NoJournal, journal_folder, record_at, recorded_run
from runtime.insight.report import render_report
from runtime.insight.whatif import recorded_totals
from tests.runtime.control.cluster import SHORT, LoopRun
from tests.runtime.control.records import plain_record

app = typer.Typer()
for command in (explain, replay, report):
    command.add_to(app)


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two applications; one with limits that bind, one that never plans."""
    folder = tmp_path_factory.mktemp("journals")
    limits = ("limits.max_added_per_step=1", "power.full_power_w=100", "limits.power_cap_w=80")
    LoopRun(folder / "limited", (*SHORT, *limits), steps=30, stale=frozenset({12, 13})).run()
    LoopRun(folder / "peak", (*SHORT, "policy=peak"), steps=30).run()
    return folder


def run(*arguments: object) -> int:
    code = app([str(argument) for argument in arguments], standalone_mode=False)
    return code if isinstance(code, int) else 0


def test_explain_tells_what_the_journal_knows(
    journals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("explain", journals / "limited", "--step", 1) == 0
    told = capsys.readouterr().out
    for words in ("Measured", "items/s arrived", "Expected", "came", "chosen:", "Limits"):
        assert words in told
    assert "limits.max_added_per_step = 1: reached" in told
    assert "requested" in told
    assert "observed" in told


def test_a_policy_without_a_plan_is_explained_too(
    journals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("explain", journals / "peak", "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["step"] == 29
    assert document["weighed"] == []
    assert any("are the most" in limit for limit in document["limits"])


def test_the_forecast_is_set_beside_what_came(journals: Path) -> None:
    found = recorded_run(journals / "limited")
    told = explanation(found.records, 3, found.start(found.records[3]))
    came = [found.records[4 + ahead].measurement.arrivals_per_s for ahead in range(2)]
    assert [each.arrived_per_s for each in told.expected[:2]] == came
    before = found.records[2].decision.expected_arrivals_per_s
    assert before is not None
    assert told.expected_before_per_s == before[0]
    chosen, *others = told.weighed
    assert chosen.chosen
    assert chosen.cost is not None
    assert others
    assert all(each.cost is not None and not each.chosen for each in others)
    last = explanation(found.records, len(found.records) - 1, None)
    assert {each.arrived_per_s for each in last.expected} == {None}


def test_the_power_cap_is_an_active_limit(journals: Path) -> None:
    found = recorded_run(journals / "limited")
    told = [
        limit
        for position in range(30)
        for limit in explanation(found.records, position, found.starts[0]).limits
    ]
    assert any(limit.startswith("limits.power_cap_w = 80: 5 executors") for limit in told)


def test_replay_of_its_own_configuration(
    journals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in ((), ("--config", journals / "limited" / CONFIG_NAME)):
        assert run("replay", journals / "limited", *options) == 0
        assert "30 decisions compared, all exactly as recorded" in capsys.readouterr().out


def test_a_difference_is_told_and_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LoopRun(tmp_path, (*SHORT, "policy=peak", "slo.latency_ms=60000"), steps=5).run()
    text = (tmp_path / "starts.jsonl").read_text().replace('"peak"', '"static-1"')
    (tmp_path / "starts.jsonl").write_text(text)
    assert run("replay", tmp_path, "--json", tmp_path / "found.json") == 1
    assert "5 decisions compared, 5 differ" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "found.json").read_text())["differences"]) == 5


def test_replay_of_another_policy_is_estimated(
    journals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("replay", journals / "peak", "--policy", "static-2", "--json", tmp_path / "x") == 0
    told = capsys.readouterr().out
    assert "Estimated difference of the other" in told
    assert "30 of 30 steps decided otherwise" in told
    document = json.loads((tmp_path / "x").read_text())
    recorded, other = document["totals"]
    found = recorded_run(journals / "peak")
    assert recorded["energy"] == recorded_totals(found.records, *found.starts * 2).energy
    assert other["energy"] < recorded["energy"]
    assert other["violations"] > recorded["violations"]
    assert {step["other_target"]["executors"] for step in document["steps"]} == {2}
    with pytest.raises(ValueError, match=r"steps of 1 s and cannot be replayed with steps of 2 s"):
        run("replay", journals / "peak", "--set", "horizon.step_s=2")


def test_reports_are_whole_pages(journals: Path, tmp_path: Path) -> None:
    assert run("report", journals / "limited", "-o", tmp_path / "one.html") == 0
    assert run("report", journals / "limited", journals / "peak", "-o", tmp_path / "two.html") == 0
    for name, figures in (("one", 6), ("two", 5)):
        page = (tmp_path / f"{name}.html").read_text()
        tree = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
        (data,) = (node for node in tree.iter("script") if node.get("id") == "drawing")
        assert len(json.loads(data.text or "")["charts"]) == figures
        assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in page
    assert "difference" in (tmp_path / "two.html").read_text()


def test_a_report_needs_no_note_of_the_start(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"".join(encode(plain_record(i)) + b"\n" for i in range(5)))
    page = render_report(recorded_run(tmp_path))
    assert "does not say the target" in page


def test_the_journal_that_is_meant(journals: Path, tmp_path: Path) -> None:
    assert journal_folder(journals / "peak" / NAME) == journals / "peak"
    with pytest.raises(NoJournal, match=r"has 2 journals, choose one: .*limited, .*peak"):
        journal_folder(journals)
    with pytest.raises(NoJournal, match="no journal folder"):
        journal_folder(tmp_path / "none")
    with pytest.raises(NoJournal, match="has no journal"):
        journal_folder(tmp_path)
    only = tmp_path / "app"
    only.mkdir()
    (only / NAME).write_bytes(b"")
    assert journal_folder(tmp_path) == only
    with pytest.raises(NoJournal, match="no step yet"):
        recorded_run(tmp_path)
    (only / NAME).write_bytes(b"torn\n")
    with pytest.raises(NoJournal, match="1 lines and none of them a record"):
        recorded_run(tmp_path)
    (only / NAME).write_bytes(b"torn\n" + encode(plain_record(1)) + b"\n")
    assert "1 torn lines passed over" in recorded_run(tmp_path).about


def test_steps_and_times(journals: Path) -> None:
    records = recorded_run(journals / "peak").records
    assert record_at(records, str(records[7].at_s + 0.5)) == 7
    with pytest.raises(NoJournal, match="begins after"):
        record_at(records, "0")
    with pytest.raises(ValueError, match="not a time"):
        record_at(records, "noon")
    with pytest.raises(NoJournal, match="no step 99; it has 0 to 29"):
        run("explain", journals / "peak", "--step", 99)
    with pytest.raises(typer.BadParameter, match="not both"):
        run("explain", journals / "peak", "--step", 1, "--at", "12:00")


def test_the_configuration_is_kept_as_it_is(tmp_path: Path) -> None:
    odd = (*SHORT, "limits.power_cap_w=60", "power.full_power_w=1e2", "policies.ds2.boundary=0.2")
    config = load_config(None, odd)
    space = ConfigurationSpace(1, 6, (1_000_000, 2_000_000))
    start = Start(5.0, "1", False, space, config)
    note_start(tmp_path, start)
    note_start(tmp_path, Start(9.0, "1", False, space, config))
    assert list(read_starts(tmp_path)) == [start]
    assert load_config(tmp_path / CONFIG_NAME) == config
    assert (tmp_path / CONFIG_NAME).stat().st_mode & 0o777 == 0o600
    note_start(tmp_path, Start(9.0, "2", False, space, config))
    assert [each.version for each in read_starts(tmp_path)] == ["1", "2"]
