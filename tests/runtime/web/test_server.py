"""The server over real sockets: state, steps, events, restarts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from mpc.events import Event, EventKind
from runtime.config import load_config
from runtime.config.web import Web
from runtime.control.journal import StepJournal, StepRecord
from runtime.fleet.state import FleetState, HostState
from runtime.metrics.facts import facts_in
from runtime.web.pages import CHART_POINTS
from runtime.web.server import WebServer, access_of, journal_server, web_server
from tests.runtime.control.cluster import SHORT, LoopRun
from tests.runtime.web.client import ask, events, wait_for_step
from tests.runtime.web.recorded import config

Records = tuple[StepRecord, ...]


def times(document: dict[str, Any]) -> list[float]:
    """Of the steps in an answer: every one has observed executors."""
    return [pair[0] for pair in document["lines"]["executors/observed"] if pair is not None]


def test_the_state_is_the_journal(server: WebServer, records: Records) -> None:
    state = ask(server.url, "/api/state").json()
    journaled = records[:-10]
    assert times(state) == [record.at_s for record in journaled]
    assert state["facts"]["target_latency_s"] == 1.5
    assert state["latest"]["step"] == journaled[-1].measurement.step
    assert len(state["latest"]["alternatives"]) == len(journaled[-1].decision.alternatives) > 0
    assert len(state["ahead"]["arrivals/expected"]) == 5
    assert state["decisions"][-1]["words"]
    assert state["hosts"] == []


def test_published_steps_arrive_at_every_page(server: WebServer, records: Records) -> None:
    with events(server.url) as one, events(server.url) as other:
        assert next(one)[0] == next(other)[0] == "hello"
        for record in records[-10:]:
            server.publish(record)
            for stream in (one, other):
                name, data = next(stream)
                assert name == "step"
                assert data["latest"]["step"] == record.measurement.step
                assert times(data)[-1] == record.at_s
                assert data["latest"]["at_s"] == record.at_s
                assert data["decision"]["last_at_s"] == record.at_s


def test_steps_since_a_moment(server: WebServer, records: Records) -> None:
    since_s = records[-13].at_s
    found = ask(server.url, f"/api/steps?since={since_s}").json()
    assert times(found) == [record.at_s for record in records[-12:-10]]
    assert ask(server.url, "/api/steps?since=yesterday").status == 400


def test_a_restarted_server_knows_what_the_first_one_knew(journal: Path, records: Records) -> None:
    with web_server(config(), Web(port=0), journal) as first:
        with StepJournal(journal, 64_000_000) as written:
            for record in records[-10:]:
                written.append(record)
                first.publish(record)
        wait_for_step(first.url, records[-1].measurement.step)
        before = ask(first.url, "/api/state").json()
    with web_server(config(), Web(port=0), journal) as second:
        after = ask(second.url, "/api/state").json()
    assert before.pop("boot") != after.pop("boot")
    assert before.pop("now_s") <= after.pop("now_s")
    assert before == after


def test_what_was_read_and_then_published_is_shown_once(
    server: WebServer, records: Records
) -> None:
    for record in records[-15:]:
        server.publish(record)
    wait_for_step(server.url, records[-1].measurement.step)
    found = times(ask(server.url, "/api/state").json())
    assert found == sorted(set(found)) and len(found) == len(records)


def test_publishing_never_fails(journal: Path, records: Records) -> None:
    server = web_server(config(), Web(port=0), journal)
    server.publish(records[-1])
    server.stop()
    server.start()
    server.publish(records[-2])
    server.stop()
    server.publish(records[-1])
    server.stop()


def test_hosts_that_fail_cost_one_answer_not_the_server(journal: Path, records: Records) -> None:
    broken = True

    def hosts() -> FleetState:
        if broken:
            raise OSError("no fleet")
        return FleetState((HostState("w1", True, controlled=True, power_w=12.5),))

    with web_server(config(), Web(port=0), journal, hosts) as server:
        assert ask(server.url, "/api/state").status == 500
        server.publish(records[-10])
        broken = False
        state = ask(server.url, "/api/state").json()
        assert [host["condition"] for host in state["hosts"]] == ["controlled"]


def test_a_journal_alone_is_followed(journal: Path, records: Records) -> None:
    with journal_server(Web(port=0), journal) as server, events(server.url) as stream:
        assert next(stream)[0] == "hello"
        with StepJournal(journal, 64_000_000) as written:
            written.append(records[-10])
        name, data = next(stream)
        assert (name, data["latest"]["step"]) == ("step", records[-10].measurement.step)
        state = ask(server.url, "/api/state").json()
        assert (state["live"], state["facts"]["target_latency_s"]) == (False, 1.5)


def test_the_control_loop_feeds_it(tmp_path: Path) -> None:
    with web_server(load_config(None, SHORT), Web(port=0), tmp_path / "app") as server:
        seen = LoopRun(tmp_path / "app", on_step=server.publish).run()
        wait_for_step(server.url, seen[-1].measurement.step)
        state = ask(server.url, "/api/state").json()
    assert times(state) == [record.at_s for record in seen]
    assert any("controller started" in event["words"] for event in state["decisions"][0]["events"])


def test_an_empty_journal_is_no_error(tmp_path: Path) -> None:
    with web_server(config(), Web(port=0), tmp_path / "none") as server:
        state = ask(server.url, "/api/state").json()
        assert (times(state), state["latest"], state["decisions"]) == ([], None, [])
        assert ask(server.url, "/metrics").status == 200
        assert ask(server.url, "/healthz").body == b"ok\n"


def test_a_silent_controller_is_not_healthy(journal: Path, records: Records) -> None:
    now_s = records[-1].at_s + 10_000.0
    access, facts = access_of(Web(port=0)), facts_in(journal)
    with WebServer(access, 0, facts, journal, wall_s=lambda: now_s) as server:
        # Just restarted: the first step is not due yet.
        assert ask(server.url, "/healthz").body == b"ok\n"
        now_s += 61.0
        silent = ask(server.url, "/healthz")
        assert (silent.status, silent.body) == (503, b"no step for 61 s\n")
        server.publish(replace(records[-1], at_s=now_s))
        wait_for_step(server.url, records[-1].measurement.step)
        assert ask(server.url, "/healthz").body == b"ok\n"


def test_a_controller_whose_steps_fail_is_not_healthy(journal: Path, records: Records) -> None:
    now_s = records[-1].at_s + 10_000.0
    access, facts = access_of(Web(port=0)), facts_in(journal)
    last = records[-1].measurement
    published = 0

    with WebServer(access, 0, facts, journal, wall_s=lambda: now_s) as server:

        def answer_after_step(failed: bool) -> tuple[int, bytes]:
            nonlocal published
            published += 1
            step = last.step + published
            server.publish(
                replace(
                    records[-1],
                    at_s=now_s + published,
                    measurement=replace(last, step=step),
                    events=(Event(EventKind.STEP_FAILED, "no"),) if failed else (),
                )
            )
            wait_for_step(server.url, step)
            answer = ask(server.url, "/healthz")
            return answer.status, answer.body

        steps = [True, True, False, True, True, True, True, False]
        answers = [answer_after_step(failed) for failed in steps]
    well = (200, b"ok\n")
    failing = [(503, f"the last {count} steps failed\n".encode()) for count in (3, 4)]
    assert answers == [*[well] * 5, *failing, well]


def test_failures_before_a_restart_do_not_make_it_unhealthy(
    tmp_path: Path, records: Records
) -> None:
    with StepJournal(tmp_path / "app", 64_000_000) as written:
        for record in records[-4:]:
            written.append(replace(record, events=(Event(EventKind.STEP_FAILED, "no"),)))
    now_s = records[-1].at_s + 30.0
    access, facts = access_of(Web(port=0)), facts_in(tmp_path / "app")
    with WebServer(access, 0, facts, tmp_path / "app", wall_s=lambda: now_s) as server:
        assert ask(server.url, "/api/state").json()["latest"]["step"] is not None
        assert ask(server.url, "/healthz").body == b"ok\n"


def test_long_histories_are_thinned(tmp_path: Path, records: Records) -> None:
    with web_server(config(), Web(port=0), tmp_path / "none") as server:
        for step in range(CHART_POINTS + 200):
            record = records[step % len(records)]
            measured = replace(record.measurement, step=step)
            server.publish(replace(record, at_s=1e9 + step, measurement=measured))
        wait_for_step(server.url, CHART_POINTS + 199)
        state = ask(server.url, "/api/state").json()
    assert CHART_POINTS / 2 <= len(times(state)) <= CHART_POINTS
