"""What was saved counts where it belongs; anywhere else it is news, and the journal is there."""

import hashlib
import os
import pickle
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from mpc.bounds import Bounds
from mpc.controller import Controller, ControllerState
from mpc.events import EventKind
from mpc.policies.rule_based.options import RuleBasedOptions
from mpc.policies.rule_based.policy import RuleBasedPolicy
from mpc.ports import Policy
from mpc.snapshot import SnapshotRefused, save
from mpc.values import ConfigurationSpace, Decision, Measurement
from runtime.config import load_config
from runtime.control.journal import StepRecord
from runtime.control.snapshots import EVERY_STEPS, NAME, SnapshotFile, fingerprint
from tests.runtime.control.cluster import SHORT, LoopRun, outcome, restarted
from tests.runtime.control.records import plain_record
from tests.support.contexts import context

SPACE = ConfigurationSpace(1, 6, (1_000_000, 2_000_000))
RULES = (*SHORT, "policy=rule-based")


def details(records: list[StepRecord], kind: EventKind) -> list[str]:
    return [event.detail for record in records for event in record.events if event.kind == kind]


def put_back(folder: Path, step: int) -> Callable[[StepRecord], None]:
    """Keeps the snapshot that is there when a step begins, as a crash then would."""

    def keep(record: StepRecord) -> None:
        if record.measurement.step == step:
            (folder / "kept").write_bytes((folder / NAME).read_bytes())

    return keep


def test_the_file_is_its_owners_alone_and_always_whole(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.new").write_text("left by a crash")
    (tmp_path / f"{NAME}.new").chmod(0o666)
    LoopRun(tmp_path, steps=3).run()
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert not (tmp_path / f"{NAME}.new").exists()


def test_it_is_written_every_so_many_steps(tmp_path: Path) -> None:
    written: list[int] = []

    def look(record: StepRecord) -> None:
        if (tmp_path / NAME).exists():
            written.append(
                msgspec.json.decode((tmp_path / NAME).read_bytes().split(b"\n")[0])["step"]
            )

    LoopRun(tmp_path, options=RULES, steps=2 * EVERY_STEPS + 5, on_step=look).run()
    assert written == [EVERY_STEPS - 1] * EVERY_STEPS + [2 * EVERY_STEPS - 1] * 6


@pytest.mark.parametrize("policy", ["foresight", "edf-q-learning", "hpa"])
def test_after_a_crash_the_steps_since_are_replayed(tmp_path: Path, policy: str) -> None:
    # So many steps are read, hence saved after so many.
    options = (*SHORT, f"policy={policy}", "journal.resume_steps=8")
    whole = LoopRun(tmp_path / "whole", options=options, steps=40).run()
    folder = tmp_path / "parts"
    first = LoopRun(folder, options=options, steps=20, resume_steps=8, on_step=put_back(folder, 19))
    first.run()
    (folder / "kept").replace(folder / NAME)
    (folder / NAME).chmod(0o600)
    second = restarted(first, steps=20, on_step=None)
    second.run()
    (resumed,) = details(second.seen, EventKind.RESUMED)
    assert resumed == "saved after step 15, 4 steps replayed, 0 steps missed since"
    assert [outcome(record) for record in first.seen + second.seen] == [outcome(r) for r in whole]


def test_a_dead_time_learned_after_it_was_saved_is_learned_again(tmp_path: Path) -> None:
    """Which means a new policy, and all it can be told of what was measured before."""
    options = (*SHORT[:2], "journal.resume_steps=10")

    def run(folder: Path, steps: int) -> LoopRun:
        cluster = LoopRun(folder, options=options, steps=steps)
        keep = put_back(folder, 18)

        def on_step(record: StepRecord) -> None:
            keep(record)
            if record.measurement.step == 14:
                cluster.slow_down(3.0)

        cluster.on_step = on_step
        cluster.run()
        return cluster

    whole = run(tmp_path / "whole", 30)
    first = run(tmp_path / "parts", 20)
    (tmp_path / "parts" / "kept").replace(tmp_path / "parts" / NAME)
    second = restarted(first, steps=10, on_step=None)
    second.run()
    (resumed,) = details(second.seen, EventKind.RESUMED)
    assert resumed.startswith("saved after step 9, 10 steps replayed")
    assert {record.dead_time_s for record in second.seen} == {3.0}
    assert [outcome(record) for record in first.seen + second.seen] == [
        outcome(r) for r in whole.seen
    ]


def test_a_policy_that_plans_nothing_does_not_feel_the_dead_time(tmp_path: Path) -> None:
    options = (*SHORT[:2], "policy=edf-q-learning", "limits.scale_in_window_s=3")
    whole = LoopRun(tmp_path / "whole", options=options, steps=20).run()
    first = LoopRun(tmp_path / "parts", options=options, steps=10)
    first.on_step = lambda record: first.slow_down(2.0 + record.measurement.step)
    first.run()
    second = restarted(first, steps=10)
    second.run()
    assert [record.target for record in first.seen + second.seen] == [r.target for r in whole]


def rewritten(
    change: Callable[[dict[str, object], bytes], tuple[dict[str, object], bytes]],
) -> Callable[[Path], None]:
    """A file with another header or another policy."""

    def rewrite(path: Path) -> None:
        line, _, payload = path.read_bytes().partition(b"\n")
        header, payload = change(msgspec.json.decode(line), payload)
        path.write_bytes(msgspec.json.encode(header) + b"\n" + payload)

    return rewrite


def digested(header: dict[str, object], payload: bytes) -> tuple[dict[str, object], bytes]:
    return {**header, "digest": hashlib.sha256(payload).hexdigest()}, payload


class Malicious:
    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("false",)


def without_parts() -> bytes:
    """A policy of the right class that has lost everything it needs."""
    state = state_of(RuleBasedPolicy(RuleBasedOptions(), context(SPACE)))
    vars(state.policy).clear()
    return save(state)


def state_of(policy: Policy) -> ControllerState:
    return Controller.of(policy, SPACE, 1.0, 1.0).state


def symlinked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_bytes(b""), "no header"),
        (lambda path: path.write_bytes(b"\xff" * 100), "no header"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "damaged"),
        (lambda path: path.chmod(0o666), "not this user's own"),
        (lambda path: path.chmod(0o620), "not this user's own"),
        (symlinked, "Too many levels of symbolic links"),
        (a_folder, "not a file"),
        (rewritten(lambda h, p: ({**h, "version": "0.0.1"}, p)), "of version 0.0.1"),
        (rewritten(lambda h, p: ({**h, "configuration": "x"}, p)), "of another configuration"),
        (rewritten(lambda h, p: ({**h, "step": 99}, p)), "of step 99, which the journal"),
        (rewritten(lambda h, p: ({**h, "at_s": 1.5}, p)), "of step 11, which the journal"),
        (rewritten(lambda h, _: digested(h, pickle.dumps(Malicious()))), "may not hold"),
        (rewritten(lambda h, _: digested(h, without_parts())), "its policy fails"),
        (rewritten(lambda h, _: digested(h, b"")), "not a snapshot"),
    ],
)
def test_what_cannot_be_used_is_an_event_and_the_journal_is_replayed(
    tmp_path: Path, spoil: Callable[[Path], object], words: str
) -> None:
    whole = LoopRun(tmp_path / "whole", options=RULES, steps=24).run()
    first = LoopRun(tmp_path / "parts", options=RULES, steps=12)
    first.run()
    spoil(tmp_path / "parts" / NAME)
    second = restarted(first, steps=12)
    second.run()
    (refused,) = details(second.seen, EventKind.SNAPSHOT_REFUSED)
    assert words in refused
    assert details(second.seen, EventKind.RESUMED) == ["12 steps replayed, 0 steps missed since"]
    assert [outcome(record) for record in first.seen + second.seen] == [outcome(r) for r in whole]


def test_another_policy_is_another_configuration(tmp_path: Path) -> None:
    first = LoopRun(tmp_path, options=RULES, steps=5)
    first.run()
    second = restarted(first, steps=5, options=(*SHORT, "policy=hpa"))
    second.run()
    assert details(second.seen, EventKind.SNAPSHOT_REFUSED) == ["of another configuration"]


def test_what_policies_are_not_built_from_may_change() -> None:
    def of(*overrides: str) -> str:
        return fingerprint(load_config(None, overrides), SPACE)

    assert of() == of("mode=advise", "journal.max_mb=7", "spark.grace_s=1")
    others = {
        of("slo.latency_ms=7"),
        of("seed=2"),
        of("policies.ds2.boundary=0.2"),
        fingerprint(load_config(None), ConfigurationSpace(1, 5, SPACE.frequencies_khz)),
    }
    assert len(others) == 4
    assert of() not in others


def test_a_policy_that_came_with_the_call_is_not_saved(tmp_path: Path) -> None:
    class Mine:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            return Decision(measurement.requested, "hold")

    LoopRun(tmp_path / "mine", steps=3, make_policy=lambda space, dead_s: Mine()).run()
    LoopRun(tmp_path / "none", steps=3, options=(*RULES, "journal.resume_steps=0")).run()
    assert not (tmp_path / "mine" / NAME).exists()
    assert not (tmp_path / "none" / NAME).exists()


def test_a_file_that_cannot_be_written_is_an_event(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.new").mkdir()
    seen = LoopRun(tmp_path, options=RULES, steps=EVERY_STEPS + 2).run()
    assert len(seen) == EVERY_STEPS + 2
    (unavailable,) = details(seen, EventKind.SNAPSHOT_UNAVAILABLE)
    assert "IsADirectoryError" in unavailable or "PermissionError" in unavailable


def test_a_step_of_the_same_number_in_another_journal_is_not_the_same_step(tmp_path: Path) -> None:
    file = SnapshotFile(tmp_path, "x")
    file.write(plain_record(3), state_of(RuleBasedPolicy(RuleBasedOptions(), context(SPACE))))
    found = file.read([plain_record(2), plain_record(3)])
    assert found is not None
    assert found.step == 3
    assert isinstance(found.state.policy, RuleBasedPolicy)
    with pytest.raises(SnapshotRefused, match="which the journal does not have"):
        file.read([replace(plain_record(3), at_s=2.0)])
    with pytest.raises(SnapshotRefused, match="which the journal does not have"):
        file.read([plain_record(4)])
