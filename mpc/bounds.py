"""What may be chosen in one step, known before anything is chosen.

A rectangle of configurations with the reasons why it is smaller than what is configured. A policy
plans within it; the controller checks afterwards that what it decided lies inside.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mpc.events import EventKind
from mpc.values import Configuration, ConfigurationSpace

_FLOORS = (
    EventKind.HELD_STALE_MEASUREMENT,
    EventKind.HELD_DOUBTFUL_RATE,
    EventKind.HELD_VIOLATION,
    EventKind.HELD_SHARE,
)


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause for bounds that are narrower than the configured space."""

    kind: EventKind
    detail: str

    @property
    def limits_growth(self) -> bool:
        """Whether it lowers the highest executor count; otherwise it raises the lower edges."""
        return self.kind not in _FLOORS


@dataclass(frozen=True, slots=True)
class Bounds:
    space: ConfigurationSpace
    """Every configuration that may be chosen now."""
    reasons: tuple[Reason, ...] = ()

    def contains(self, configuration: Configuration) -> bool:
        return self.nearest(configuration) == configuration

    def nearest(self, configuration: Configuration) -> Configuration:
        return self.space.nearest(configuration)

    def met_by(self, configuration: Configuration) -> Iterator[Reason]:
        """The reasons whose edge this configuration, inside the bounds, stands on."""
        at_top = configuration.executors == self.space.max_executors
        at_bottom = (
            configuration.executors == self.space.min_executors
            or configuration.frequency_khz == self.space.frequencies_khz[0]
        )
        for reason in self.reasons:
            if at_top if reason.limits_growth else at_bottom:
                yield reason
