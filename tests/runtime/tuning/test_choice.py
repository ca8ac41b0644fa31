"""A recommendation is never worse than what there is, and in no fold by more than chance."""

from hypothesis import given
from hypothesis import strategies as st

from runtime.config import Config
from runtime.tuning.choice import Aim, choose, pareto
from runtime.tuning.knobs import Knobs
from runtime.tuning.outcome import TuningOutcome
from runtime.tuning.search import Candidate
from runtime.tuning.trace import blocks_of
from tests.runtime.tuning.made import outcome

BLOCKS = blocks_of(1000.0, 2, 1, 100.0)
BASE = Knobs.of(Config())


def _candidate(alpha: float, *outcomes: TuningOutcome) -> Candidate:
    return Candidate(Knobs(alpha, 0.5, 0.03, 2, 1.0, None, 0), outcomes)


PRESENT = Candidate(BASE, (outcome(violations=2), outcome(violations=0)))
SAVES = _candidate(
    2.0, outcome(violations=2, energy_j=950.0), outcome(violations=0, energy_j=960.0)
)


def test_less_energy_with_the_same_violations_is_recommended() -> None:
    choice = choose(PRESENT, [SAVES], BLOCKS, Aim())
    assert choice.recommended == SAVES
    assert choice.held_back.chosen.energy_j == 1910.0
    assert choice.front == (SAVES,)


def test_more_violations_in_one_fold_than_chance_makes_is_not() -> None:
    now = Candidate(BASE, (outcome(violations=6), outcome(violations=0)))
    swapped = _candidate(
        3.0, outcome(violations=1, energy_j=900.0), outcome(violations=2, energy_j=900.0)
    )
    by_chance = _candidate(
        4.0, outcome(violations=1, energy_j=900.0), outcome(violations=1, energy_j=900.0)
    )
    assert choose(now, [swapped], BLOCKS, Aim()).recommended is None
    assert choose(now, [by_chance], BLOCKS, Aim()).recommended == by_chance


def test_more_energy_in_one_fold_is_not() -> None:
    uneven = _candidate(
        3.0, outcome(violations=2, energy_j=800.0), outcome(violations=0, energy_j=1001.0)
    )
    assert choose(PRESENT, [uneven], BLOCKS, Aim()).recommended is None


def test_coming_closer_to_the_target_is_not_a_gain() -> None:
    close = _candidate(
        3.0,
        outcome(violations=2, strained=4, energy_j=900.0),
        outcome(violations=0, strained=9, energy_j=900.0),
    )
    assert choose(PRESENT, [close], BLOCKS, Aim()).recommended is None
    assert choose(PRESENT, [close], BLOCKS, Aim(max_violations=0.05)).recommended == close


def test_of_two_that_save_the_one_farther_from_the_target_is_taken() -> None:
    now = Candidate(BASE, (outcome(strained=5), outcome(strained=5)))
    bold = _candidate(2.0, outcome(strained=5, energy_j=950.0), outcome(strained=5, energy_j=950.0))
    careful = _candidate(
        3.0, outcome(strained=1, energy_j=960.0), outcome(strained=1, energy_j=960.0)
    )
    assert choose(now, [bold, careful], BLOCKS, Aim()).recommended == careful
    assert choose(now, [bold, careful], BLOCKS, Aim(0.01)).recommended == bold


def test_a_bound_admits_violations_for_energy_but_not_beyond_it() -> None:
    cheap = _candidate(
        3.0, outcome(violations=4, energy_j=800.0), outcome(violations=4, energy_j=800.0)
    )
    assert choose(PRESENT, [cheap, SAVES], BLOCKS, Aim(0.05)).recommended == cheap
    assert choose(PRESENT, [cheap, SAVES], BLOCKS, Aim(0.03)).recommended == SAVES


def test_a_gain_too_small_to_matter_keeps_what_there_is() -> None:
    same = _candidate(3.0, outcome(violations=2, energy_j=999.9), outcome(energy_j=999.9))
    assert choose(PRESENT, [same], BLOCKS, Aim()).recommended is None


figures = st.builds(
    outcome,
    violations=st.integers(0, 5),
    energy_j=st.floats(500, 1500),
    strained=st.integers(0, 5),
    reconfigurations=st.integers(0, 9),
)


@given(
    now=st.tuples(figures, figures),
    others=st.lists(st.tuples(figures, figures), max_size=6),
)
def test_recommended_is_at_least_as_good(
    now: tuple[TuningOutcome, TuningOutcome], others: list[tuple[TuningOutcome, TuningOutcome]]
) -> None:
    present = Candidate(BASE, now)
    finalists = [_candidate(2.0 + place, *both) for place, both in enumerate(others)]
    choice = choose(present, finalists, BLOCKS, Aim())
    if choice.recommended is not None:
        chosen = choice.recommended.outcomes
        assert sum(each.violations for each in chosen) <= sum(each.violations for each in now)
        for here, kept in zip(chosen, now, strict=True):
            assert here.violations <= kept.violations + 1 + kept.violations**0.5
            assert here.energy_j <= kept.energy_j
    for one in choice.front:
        assert one in pareto(choice.front)
