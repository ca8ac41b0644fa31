"""A state is skipped only for one that is at least as good in every respect."""

from hypothesis import given
from hypothesis import strategies as st

from mpc.horizon.dominance import Memory, empty_memory, seen_better

KEY = (2, 0, 1, 1)
small = st.integers(0, 2)
states = st.tuples(st.tuples(small, small, small), st.tuples(small, small))
State = tuple[tuple[int, int, int], tuple[int, int]]


def seen(memory: Memory, state: State, monotone: bool) -> bool:
    memory.spent[:] = state[0]
    memory.felt[:] = state[1]
    return seen_better(memory, KEY, monotone)


@given(st.lists(states, min_size=1, max_size=20), st.booleans())
def test_a_state_is_seen_if_and_only_if_it_is_dominated(
    visited: list[State], monotone: bool
) -> None:
    memory = empty_memory((4, 3, 3), (1, 2), 50)
    kept: list[State] = []
    for spent, felt in visited:
        dominated = any(
            all(old <= new for old, new in zip(known[0], spent, strict=True))
            and (
                all(old >= new for old, new in zip(known[1], felt, strict=True))
                if monotone
                else known[1] == felt
            )
            for known in kept
        )
        assert seen(memory, (spent, felt), monotone) == dominated
        if not dominated:
            kept.append((spent, felt))


def test_other_places_do_not_matter_and_a_full_memory_only_forgets() -> None:
    memory = empty_memory((4, 3, 3), (1, 2), 1)
    assert not seen(memory, ((1, 1, 1), (0, 0)), True)
    memory.spent[:] = 5.0
    assert not seen_better(memory, (1, 0, 1, 1), True)
    assert not seen(memory, ((0, 0, 0), (0, 0)), True)
    assert not seen(memory, ((0, 0, 0), (0, 0)), True)
    assert seen(memory, ((1, 1, 1), (0, 0)), True)


def test_rounding_is_no_difference() -> None:
    memory = empty_memory((4, 3, 3), (1, 2), 5)
    assert not seen(memory, ((1, 1, 1), (0, 0)), True)
    memory.spent[:] = 1.0 - 1e-15
    assert seen_better(memory, KEY, True)
    memory.spent[0] = 1.0 - 1e-9
    assert not seen_better(memory, KEY, True)
