"""Where centralised control stops being practical: states, seconds and memory by operators.

Measured (in CPU seconds), one more operator at a time, and bounded: a size whose tables would not
fit into the allowed memory is not begun, and a problem whose sweeps would take too long is not
solved; its time is then that of one sweep, as many times as the last solved problem needed.
"""

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

from benchmarks.mdp.arrivals import Arrivals
from benchmarks.mdp.setting import DISCOUNT, SLOT_S, MdpSetting, violations
from mpc.policies.mdp.learner import ModelBasedLearner
from mpc.policies.mdp.problem import stage_cost
from mpc.policies.mdp.value_iteration import solve, warm_up

MOST_MEMORY_BYTES = 1 << 30
MOST_SOLVE_S = 30.0
"""A longer solution is not measured but reckoned."""
MOST_OPERATORS = 12
YEAR_SLOTS = int(365 * 24 * 3600 / SLOT_S)
VALUE_TABLES = 5
"""Tables of the size of the state space that setting up and solving hold at once, at most."""
ACTION_TABLES = 1.1
"""Tables of the size of the state-action space that learning holds: penalties and neighbours."""
PRACTICAL_SOLVE_S = 600.0
PRACTICAL_YEAR_S = 3600.0
"""What counts as practical here: solved in ten minutes, a year of learning steps in an hour."""


@dataclass(frozen=True, slots=True)
class LimitRow:
    operators: int
    states: int
    actions: int
    sweep_s: float | None
    """Of value iteration over all states; None where the memory does not allow it."""
    solve_s: float | None
    solve: str
    """measured, reckoned, or why not."""
    solve_mb: float
    """Measured at its peak; what it would take where it was not begun."""
    learn_step_s: float | None
    """One step of the RL that knows no response times: a penalty for every state and action."""
    learn_year_h: float | None
    learn_mb: float
    practical: str


def limit_rows(
    arrivals: Arrivals,
    begin: Callable[[str], None],
    memory_bytes: int = MOST_MEMORY_BYTES,
    most_operators: int = MOST_OPERATORS,
    most_solve_s: float = MOST_SOLVE_S,
) -> list[LimitRow]:
    """One row an operator, up to the first size that does not fit into the memory."""
    warm_up()
    rows: list[LimitRow] = []
    sweeps = 0
    for operators in range(1, most_operators + 1):
        begin(f"{operators} operators")
        setting = MdpSetting(operators)
        row, sweeps = _row(setting, arrivals, memory_bytes, most_solve_s, sweeps)
        rows.append(row)
        if row.sweep_s is None:
            break
    return rows


def _row(
    setting: MdpSetting, arrivals: Arrivals, memory_bytes: int, most_solve_s: float, sweeps: int
) -> tuple[LimitRow, int]:
    instances = setting.instances
    levels = len(arrivals.transitions)
    states = levels * instances.size
    sweep_s = solve_s = learn_s = None
    solve_bytes = VALUE_TABLES * states * 8
    learn_bytes = int(ACTION_TABLES * states * instances.actions * 8)
    how = "does not fit"
    if solve_bytes <= memory_bytes:
        solved = _solved(setting, arrivals, most_solve_s, sweeps)
        sweep_s, solve_s, how, solve_bytes, sweeps = solved
    if learn_bytes <= memory_bytes:
        learn_s, learn_bytes = _learned(setting, levels)
    row = LimitRow(
        operators=setting.operators,
        states=states,
        actions=instances.actions,
        sweep_s=sweep_s,
        solve_s=solve_s,
        solve=how,
        solve_mb=solve_bytes / 1e6,
        learn_step_s=learn_s,
        learn_year_h=None if learn_s is None else learn_s * YEAR_SLOTS / 3600,
        learn_mb=learn_bytes / 1e6,
        practical=_verdict(solve_s, learn_s),
    )
    return row, sweeps


def _solved(
    setting: MdpSetting, arrivals: Arrivals, most_solve_s: float, sweeps: int
) -> tuple[float, float, str, int, int]:
    """Seconds a sweep, seconds to solve, how those are known, peak bytes, sweeps needed."""
    instances, weights = setting.instances, setting.weights
    transitions = arrivals.transitions
    tracemalloc.start()
    try:
        stage = stage_cost(instances, weights, violations(setting, len(transitions)))
        began_s = process_time()
        solve(transitions, stage, instances, weights.reconfiguration, DISCOUNT, most_sweeps=3)
        # Three sweeps and the last look ahead: a little too much rather than too little.
        sweep_s = (process_time() - began_s) / 3
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if sweeps and sweep_s * sweeps > most_solve_s:
        return sweep_s, sweep_s * sweeps, "reckoned", peak_bytes, sweeps
    began_s = process_time()
    solution = solve(transitions, stage, instances, weights.reconfiguration, DISCOUNT)
    solve_s = process_time() - began_s
    return solve_s / solution.sweeps, solve_s, "measured", peak_bytes, solution.sweeps


def _learned(setting: MdpSetting, levels: int) -> tuple[float, int]:
    """Seconds of one learning step and the bytes of the tables at their peak."""
    tracemalloc.start()
    try:
        learner = ModelBasedLearner(
            levels, setting.instances, setting.weights, known_violations=None, discount=DISCOUNT
        )
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    learner.learn(0, 0, 0, 0, violated=False)  # the first touches every page of the tables
    steps = 3
    began_s = process_time()
    for step in range(steps):
        learner.learn(step % levels, 0, 0, (step + 1) % levels, violated=False)
    return (process_time() - began_s) / steps, peak_bytes


def _verdict(solve_s: float | None, learn_s: float | None) -> str:
    if solve_s is None:
        return "no: the values do not fit into the memory"
    if solve_s > PRACTICAL_SOLVE_S:
        return "no: solving takes over ten minutes"
    if learn_s is None:
        return "solving only: the penalties do not fit into the memory"
    if learn_s > SLOT_S:
        return "solving only: a learning step takes longer than a slot"
    if learn_s * YEAR_SLOTS > PRACTICAL_YEAR_S:
        return "live only: a year of learning takes over an hour"
    return "yes"
