"""Lines: where values stand, where a line breaks off, and that ends continue what a page has."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.control.journal import StepRecord
from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.facts import Facts
from runtime.metrics.lines import ahead_of, last_values, lines_of, tails_of
from runtime.metrics.state import RunState
from runtime.report.charts import Pair, Polyline
from tests.runtime.control.records import plain_record

FACTS = Facts(application="orders", target_latency_s=1.5, step_s=1.0)
steps = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 1, 1, 2, 6, 30]),  # steps since the one before
        st.booleans(),  # a batch ended
        st.booleans(),  # power is known
    ),
    min_size=1,
    max_size=80,
)


def record(step: int, reports: bool, has_power: bool) -> StepRecord:
    plain = plain_record(step)
    measurement = replace(
        plain.measurement,
        arrivals_per_s=100.0 + step if reports else None,
        arrivals_age_s=3.0,
        latency_s=1.0 + step % 3 if reports else None,
        power_w=40.0 if has_power else None,
    )
    return replace(plain, at_s=1000.0 + step, measurement=measurement)


def continued(line: Polyline, end: Polyline) -> list[Pair | None]:
    """As `app.js` does it."""
    first = next((pair[0] for pair in end if pair is not None), None)
    until = next(
        (
            index
            for index, pair in enumerate(line)
            if pair is not None and first is not None and pair[0] >= first
        ),
        len(line),
    )
    return [*line[:until], *end]


def without_doubles(line: Polyline) -> list[Pair | None]:
    """Breaks that draw nothing: at the ends, and beside another one."""
    kept: list[Pair | None] = []
    for pair in line:
        if pair is not None or (kept and kept[-1] is not None):
            kept.append(pair)
    while kept and kept[-1] is None:
        kept.pop()
    return kept


@settings(max_examples=100, deadline=None)
@given(steps)
def test_ends_continue_a_page_to_what_a_new_one_gets(found: list[tuple[int, bool, bool]]) -> None:
    state, page, step = RunState(FACTS), dict[str, list[Pair | None]](), 0
    for since, reports, has_power in found:
        step += since
        state.add(record(step, reports, has_power))
        ends = tails_of(CATALOGUE, state.points, state.step_s)
        page = {key: continued(page.get(key, []), end) for key, end in ends.items()}
    for key, line in lines_of(CATALOGUE, state.points, state.step_s).items():
        assert without_doubles(page[key]) == without_doubles(line), key


def test_a_line_breaks_off_where_steps_are_missing_and_where_nothing_is_known() -> None:
    state = RunState(FACTS)
    for step in (1, 2, 3, 20, 21, 22):
        state.add(record(step, True, step != 2))
    lines = lines_of(CATALOGUE, state.points, 1.0)
    times = [None if pair is None else pair[0] - 1000.0 for pair in lines["executors/observed"]]
    assert times == [1.0, 2.0, 3.0, None, 20.0, 21.0, 22.0]
    (power,) = (key for key in lines if key.startswith("power/") and any(lines[key]))
    times = [None if pair is None else pair[0] - 1000.0 for pair in lines[power]]
    assert times == [1.0, None, 3.0, None, 20.0, 21.0, 22.0]


def test_what_a_batch_reports_stands_before_its_step_and_is_overdue_some_time() -> None:
    state = RunState(FACTS)
    for step in range(1, 13):
        state.add(record(step, step % 4 == 0, has_power=False))
    line = lines_of(CATALOGUE, state.points, 1.0)["arrivals/arrived"]
    assert line == [(1001.0, 104.0), (1005.0, 108.0), (1009.0, 112.0)]
    for step in range(13, 27):
        state.add(record(step, False, has_power=False))
    assert last_values(CATALOGUE, state.points)["arrivals/arrived"] == 112.0
    state.add(record(27, False, has_power=False))
    assert "arrivals/arrived" not in last_values(CATALOGUE, state.points)


def test_what_is_ahead_begins_now(records: tuple[StepRecord, ...]) -> None:
    state = RunState(FACTS)
    for each in records:
        state.add(each)
    ahead = ahead_of(CATALOGUE, state.view())
    at_s = records[-1].at_s
    assert ahead["executors/plan"][0][0] == at_s
    assert ahead["arrivals/expected"][0][0] == at_s + 1.0
    assert ahead["arrivals/low"][0][0] == ahead["arrivals/high"][0][0] == at_s
