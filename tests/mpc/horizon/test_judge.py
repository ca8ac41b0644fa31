"""The optimiser and HiGHS agree, and the judge says what it cannot judge."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mpc.horizon.judge import judge
from mpc.horizon.problem import HorizonProblem, QosCurve
from mpc.horizon.search import solve
from mpc.values import ConfigurationSpace
from tests.mpc.horizon.instances import NAMES, problems

LINEAR = tuple(name for name in NAMES if name != "backlog")


@pytest.mark.parametrize("names", [(), *((name,) for name in LINEAR), LINEAR])
@settings(max_examples=5, derandomize=True)
@given(data=st.data())
def test_the_judge_agrees(names: tuple[str, ...], data: st.DataObject) -> None:
    problem = data.draw(problems(names))
    plan = solve(problem, tolerance=0.0)
    assume(problem.qos.cost(problem.latency_s).max() < 1e4)  # far from the cap of the judge
    verdict = judge(problem)
    assert verdict.cost.total == pytest.approx(plan.cost.total, rel=1e-6, abs=1e-6)


@given(problems(("backlog",)))
@settings(max_examples=1)
def test_the_judge_does_not_judge_a_backlog(problem: HorizonProblem) -> None:
    with pytest.raises(ValueError, match="no backlog"):
        judge(problem)


def test_costs_beyond_the_cap_are_refused_not_misjudged() -> None:
    space = ConfigurationSpace(1, 2, (1_000_000,))
    torn = HorizonProblem(
        space=space,
        current=space.at(0, 0),
        latency_s=np.array([[[0.0], [1e6]], [[1e6], [0.0]]]),
        qos=QosCurve(1.0, 0.0, 1.0),
        resource_cost=np.zeros((2, 1)),
        executor_switching=1e7,
        frequency_switching=0.0,
    )
    with pytest.raises(ValueError, match="beyond what HiGHS can tell"):
        judge(torn)
