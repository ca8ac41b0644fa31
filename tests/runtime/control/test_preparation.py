"""A start does not wait for its controller: the loop measures, holds, and learns afterwards."""

import threading
from pathlib import Path

import pytest

from mpc.events import EventKind
from runtime.control.preparation import Preparation, Prepared
from runtime.insight.journals import recorded_run
from runtime.insight.replay import replayed, verdict
from tests.runtime.control.cluster import LoopRun, restarted

HELD = 6


@pytest.fixture
def slow_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller is there after so many steps of the loop."""
    take = Preparation.take
    asked: dict[int, int] = {}

    def later(self: Preparation) -> object:
        asked[id(self)] = asked.get(id(self), 0) + 1
        return take(self) if asked[id(self)] > HELD else None

    monkeypatch.setattr(Preparation, "take", later)


@pytest.mark.usefixtures("slow_start")
def test_until_it_is_there_steps_are_journaled_and_nothing_is_touched(tmp_path: Path) -> None:
    run = LoopRun(tmp_path, steps=20)
    orders: list[tuple[int, int]] = []
    run.on_step = lambda record: orders.append(run.touched)
    seen = run.run()
    held = [record for record in seen if not record.consulted]
    assert [record.measurement.step for record in held] == list(range(HELD))
    assert set(orders[:HELD]) == {(0, 0)}
    for record in held:
        assert record.decision.reason.startswith("hold: compiling the optimiser")
        assert EventKind.HELD_COMPILING in {event.kind for event in record.events}
        assert record.target == record.measurement.requested
    kinds = {event.kind for event in seen[HELD].events}
    assert EventKind.STARTED in kinds
    assert EventKind.HELD_COMPILING not in kinds


@pytest.mark.usefixtures("slow_start")
def test_such_a_journal_replays_exactly(tmp_path: Path) -> None:
    first = LoopRun(tmp_path, steps=20)
    first.run()
    restarted(first, steps=15).run()
    found = verdict(list(replayed(recorded_run(tmp_path))))
    assert (found.steps, found.compared, found.same) == (35 - 2 * HELD,) * 3


def test_a_controller_in_the_background_comes_when_it_is_made() -> None:
    go = threading.Event()

    def prepare() -> Prepared:
        go.wait(60.0)
        raise ValueError("no such thing")

    preparation = Preparation(prepare, in_background=True)
    assert preparation.take() is None
    go.set()
    assert preparation.wait(60.0)
    with pytest.raises(ValueError, match="no such thing"):
        preparation.take()
