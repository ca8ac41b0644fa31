"""The search finds a known optimum in few evaluations, and is the same by its seed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.config import Config
from runtime.config.rules import contradictions
from runtime.tuning.choice import Aim
from runtime.tuning.knobs import Knobs, KnobSpace, steps_for
from runtime.tuning.outcome import TuningOutcome
from runtime.tuning.search import Candidate, SearchPlan, hardest_first, search
from runtime.tuning.trace import Trace, TraceBlock, blocks_of
from tests.runtime.tuning.made import outcome

BASE = Knobs.of(Config())
PLAN = SearchPlan()
BLOCKS = blocks_of(12 * 3600.0, PLAN.folds, PLAN.blocks_per_fold, PLAN.block_s)
PROOFS = blocks_of(12 * 3600.0, PLAN.folds, PLAN.proof_blocks_per_fold, PLAN.proof_block_s)


class Bowl:
    """Least energy at gamma = 0.018, where no probe is, and violations well below it."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, wanted: Sequence[tuple[Knobs, TraceBlock]]) -> list[TuningOutcome]:
        self.calls += len(wanted)
        return [
            outcome(
                energy_j=1000.0 + 50.0 * abs(np.log(knobs.gamma / 0.018)) + block.fold,
                violations=3 if knobs.gamma < 0.013 else 0,
            )
            for knobs, block in wanted
        ]


def _found(seed: int) -> tuple[Candidate, tuple[Candidate, ...], Bowl]:
    bowl = Bowl()
    present, finalists = search(
        KnobSpace(BASE), BLOCKS, PROOFS, PLAN, bowl, Aim().cost, np.random.default_rng(seed)
    )
    return present, finalists, bowl


def test_finds_the_optimum_within_the_plan() -> None:
    present, finalists, bowl = _found(1)
    assert present.knobs == BASE
    assert 0.013 <= finalists[0].knobs.gamma <= 0.025
    assert finalists[0].total.energy_j < present.total.energy_j
    assert bowl.calls <= PLAN.evaluations()
    assert len(finalists[0].outcomes) == len(PROOFS)
    assert sum(block.end_s - block.begin_s for block in PROOFS) == 8 * 3600.0


def test_is_the_same_by_seed() -> None:
    assert _found(3)[1] == _found(3)[1]
    assert _found(3)[1] != _found(4)[1]


def test_the_roughest_block_of_every_fold_comes_first() -> None:
    rates = np.full(4 * 3600, 10.0)
    blocks = blocks_of(4 * 3600.0, 4, 3, 600.0)
    rough = [blocks[index] for index in (2, 4, 6, 10)]
    for block in rough:
        middle = int((block.begin_s + block.end_s) / 2)
        rates[middle - 100 : middle + 100] = 100.0 + block.fold
    ordered = hardest_first(Trace(rates, 1.0, "made"), blocks)
    assert set(ordered[:4]) == set(rough)
    assert set(ordered) == set(blocks)


@given(seed=st.integers(0, 2**32), dead_time_s=st.none() | st.floats(0, 600))
def test_every_candidate_is_a_valid_configuration(seed: int, dead_time_s: float | None) -> None:
    around = BASE if dead_time_s is None else replace(BASE, horizon_steps=60, step_s=10.1)
    space = KnobSpace(around, steps_for(1.0, around.step_s, dead_time_s), dead_time_s)
    random = np.random.default_rng(seed)
    drawn = space.draw(random)
    others = (space.near(drawn, random), space.towards(drawn, 0.5), *space.probes())
    for knobs in (drawn, *others):
        config = knobs.applied_to(Config())
        assert Knobs.of(config) == knobs
        assert not list(contradictions(config))
        assert 1 <= config.horizon.steps <= 60
        if dead_time_s is not None:
            assert config.horizon.steps * config.horizon.step_s > dead_time_s


def test_steps_are_not_finer_than_the_rates() -> None:
    assert steps_for(5.0, 1.0) == (1.0, 5.0, 10.0)
    assert steps_for(60.0, 2.0) == (2.0, 10.0)
