"""What is tuned, and where it may lie: the weights, the horizon, the step and two limits.

Pure: a generator is passed in. Weights are drawn on a logarithmic scale around the present ones,
because only their ratios matter to the plan and those matter by factors.
"""

from dataclasses import dataclass, replace

import msgspec
import numpy as np

from runtime.config import Config

ALPHA_FACTORS = (0.5, 6.0)
BETA_FACTORS = (0.5, 2.0)
GAMMA_FACTORS = (0.03, 3.0)
HORIZON_STEPS = (2, 3, 4, 6, 8)
STEPS_S = (1.0, 2.0, 5.0, 10.0)
"""To simulate a second takes a time that falls with the square of the step, so that longer ones
are drawn more often: in proportion to their length, up to five seconds."""
MOST_REMOVED = (None, 1, 2)
DWELL_STEPS = (0, 0, 2, 4)
"""No dwell twice: most applications do best without, and a draw should say so."""
NEAR_FACTOR = 1.6
"""A neighbour's weight is at most this many times larger or smaller."""
LEAST_GAMMA = 1e-3
MOST_STEPS = 60
"""Of a horizon, as the configuration allows; a dead time must fit into it."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """One candidate."""

    alpha: float
    beta: float
    gamma: float
    horizon_steps: int
    step_s: float
    max_removed_per_step: int | None
    min_dwell_steps: int

    @classmethod
    def of(cls, config: Config) -> "Knobs":
        """What a configuration has now."""
        weights = config.cost.weights
        return cls(
            alpha=weights.latency,
            beta=weights.resource,
            gamma=weights.switching,
            horizon_steps=config.horizon.steps,
            step_s=config.horizon.step_s,
            max_removed_per_step=config.limits.max_removed_per_step,
            min_dwell_steps=config.limits.min_dwell_steps,
        )

    def applied_to(self, config: Config) -> Config:
        change = msgspec.structs.replace
        return change(
            config,
            cost=change(
                config.cost,
                latency_weight=self.alpha,
                resource_weight=self.beta,
                switching_weight=self.gamma,
            ),
            horizon=change(config.horizon, steps=self.horizon_steps, step_s=self.step_s),
            limits=change(
                config.limits,
                max_removed_per_step=self.max_removed_per_step,
                min_dwell_steps=self.min_dwell_steps,
            ),
        )

    @property
    def words(self) -> str:
        limits = "" if self.max_removed_per_step is None else f", -{self.max_removed_per_step}/step"
        dwell = f", dwell {self.min_dwell_steps}" if self.min_dwell_steps else ""
        return (
            f"{self.alpha:g}/{self.beta:g}/{self.gamma:g}, "
            f"{self.horizon_steps} x {self.step_s:g} s{limits}{dwell}"
        )


@dataclass(frozen=True, slots=True)
class KnobSpace:
    """The candidates around one configuration."""

    around: Knobs
    steps_s: tuple[float, ...] = STEPS_S
    dead_time_s: float | None = None
    """Of the configuration: a plan must reach beyond it. None: the plan follows what is learned."""

    def draw(self, random: np.random.Generator) -> Knobs:
        """Anywhere in the space."""
        around = self.around
        return self._reaching(
            Knobs(
                alpha=_drawn(random, around.alpha, ALPHA_FACTORS),
                beta=_drawn(random, around.beta, BETA_FACTORS),
                gamma=_drawn(random, max(around.gamma, LEAST_GAMMA), GAMMA_FACTORS),
                horizon_steps=HORIZON_STEPS[random.integers(len(HORIZON_STEPS))],
                step_s=self._drawn_step_s(random),
                max_removed_per_step=MOST_REMOVED[random.integers(len(MOST_REMOVED))],
                min_dwell_steps=DWELL_STEPS[random.integers(len(DWELL_STEPS))],
            )
        )

    def probes(self) -> tuple[Knobs, ...]:
        """The moves that help most often: changes made cheaper, alone or with latency dearer, at
        the present step and at the next longer one."""
        around = self.around
        gamma = max(around.gamma, LEAST_GAMMA)
        longer = [step_s for step_s in self.steps_s if step_s > around.step_s][:1]
        moves = ((1.0, 1.0 / 3.0), (2.0, 1.0 / 3.0), (1.0, 0.1))
        return tuple(
            self._reaching(
                replace(
                    around,
                    alpha=more * around.alpha,
                    gamma=_rounded(gamma * less),
                    step_s=step_s,
                )
            )
            for step_s in (around.step_s, *longer)
            for more, less in moves
        )

    def near(self, knobs: Knobs, random: np.random.Generator) -> Knobs:
        """A neighbour: other weights close by, and now and then one other choice."""
        factors = (1.0 / NEAR_FACTOR, NEAR_FACTOR)
        moved = replace(
            knobs,
            alpha=_drawn(random, knobs.alpha, factors),
            gamma=_drawn(random, max(knobs.gamma, LEAST_GAMMA), factors),
        )
        other = self.draw(random)
        names = ("beta", "horizon_steps", "step_s", "max_removed_per_step", "min_dwell_steps")
        name = names[random.integers(len(names))]
        return self._reaching(replace(moved, **{name: getattr(other, name)}))

    def towards(self, knobs: Knobs, share: float) -> Knobs:
        """Between the present configuration and a candidate, whose other choices it keeps."""
        around = self.around
        return replace(
            knobs,
            alpha=_between(around.alpha, knobs.alpha, share),
            beta=_between(around.beta, knobs.beta, share),
            gamma=_between(max(around.gamma, LEAST_GAMMA), knobs.gamma, share),
        )

    def _drawn_step_s(self, random: np.random.Generator) -> float:
        weights = np.minimum(self.steps_s, 5.0)
        return self.steps_s[random.choice(len(self.steps_s), p=weights / weights.sum())]

    def _reaching(self, knobs: Knobs) -> Knobs:
        if self.dead_time_s is None:
            return knobs
        # One step more than the dead time, as the rules of the configuration demand.
        fewest = int(self.dead_time_s / knobs.step_s) + 1
        return replace(knobs, horizon_steps=max(knobs.horizon_steps, fewest))


def steps_for(
    bin_s: float, base_step_s: float, dead_time_s: float | None = None
) -> tuple[float, ...]:
    """Control steps worth trying on rates of this resolution; the present one always is."""
    fitting = {
        step_s
        for step_s in STEPS_S
        if step_s >= min(bin_s, STEPS_S[-1]) and (dead_time_s or 0.0) < MOST_STEPS * step_s
    }
    return tuple(sorted(fitting | {base_step_s}))


def _drawn(random: np.random.Generator, value: float, factors: tuple[float, float]) -> float:
    low, high = np.log(factors)
    return _rounded(value * float(np.exp(random.uniform(low, high))))


def _between(start: float, end: float, share: float) -> float:
    return _rounded(float(np.exp((1.0 - share) * np.log(start) + share * np.log(end))))


def _rounded(value: float) -> float:
    """Two significant digits: people read these, and none of them is known better."""
    return float(f"{value:.2g}")
