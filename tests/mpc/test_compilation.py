"""Nothing is compiled inside a control step, whatever it needs."""

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

from energy.power import prior_power
from mpc.bounds import Bounds
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement
from tests.support.contexts import context, foresight

SPACE = ConfigurationSpace(1, 12, (1_200_000, 1_600_000, 2_000_000))
LIMITS = (
    "limits.min_dwell_steps=2",
    "limits.max_added_per_step=3",
    "limits.max_removed_per_step=2",
    "limits.power_cap_w=0.8",
    "limits.energy_budget_j=8.0",
)


def compiled_signatures() -> set[tuple[int, Any]]:
    kernels = [each for each in gc.get_objects() if isinstance(each, CPUDispatcher)]
    return {(id(kernel), signature) for kernel in kernels for signature in kernel.signatures}


def measured(step: int, backlog_items: float | None) -> Measurement:
    rate = 4_000.0 + 2_000.0 * float(np.sin(step / 9.0))
    place = Configuration(6, 1_600_000)
    return Measurement(
        step,
        float(step),
        place,
        place,
        arrivals_per_s=rate,
        arrival_dispersion=1.2,
        completions_per_s=rate,
        backlog_items=backlog_items,
        cost_cycles=2e6,
        cost_cv=0.3,
        wait_s=0.1,
        latency_s=0.8,
        batches=(BatchSample(int(rate), 0.9, place),),
        startup_s=3.0 + step // 20,
    )


@pytest.mark.parametrize("model", ["micro-batch", "kingman"])
@pytest.mark.parametrize("limits", [(), LIMITS, ("forecast.risk=cvar",)])
def test_every_kernel_is_ready_before_the_first_step(model: str, limits: tuple[str, ...]) -> None:
    policy = foresight(
        context(SPACE, power=prior_power(12, 2_000_000, 1.0)), f"latency.model={model}", *limits
    )
    before = compiled_signatures()
    few = Bounds(ConfigurationSpace(4, 9, SPACE.frequencies_khz[1:]))
    for step in range(70):
        waiting = 60_000.0 if step % 7 == 3 else 0.0
        bounds = few if step % 11 == 5 else Bounds(SPACE)
        policy.decide(measured(step, waiting), bounds)
    policy.decide(replace(measured(70, None), arrivals_per_s=None, batches=()), Bounds(SPACE))
    assert compiled_signatures() - before == set()
