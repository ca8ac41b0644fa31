"""The probabilistic decision of one operator instance (Belkhiria and Tedeschi 2019, section 4.1).

Every instance decides for itself, so that the expected sum of all decisions is what the operator
needs: load l against capacity C and desired ratio r gives p = (l n / (r C) - n) / n, in which the
number of siblings n cancels. An instance needs to know nothing but its own load.

Deviations: section 4.1.1 and the algorithms disagree, and the text is followed. Algorithm 2 rounds
the difference down, which also leaves it negative where a deletion wants a probability: here it is
not rounded and taken by absolute value. Algorithm 4 takes all of p, not its fraction, for the
probability of the last duplicate, and acts on two and more only: here the fraction, and on one.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class LoadBand:
    """Load of one instance as a share of its capacity; the defaults are those of section 5.1."""

    target: float = 0.7
    """r, where a decision aims at."""
    upper: float = 0.8
    """From here on an instance thinks of duplicating itself."""
    lower: float = 0.6
    """Down from here it thinks of deleting itself."""

    def __post_init__(self) -> None:
        if not 0 < self.lower <= self.target <= self.upper or self.target > 1:
            raise ValueError(
                f"the load band must satisfy 0 < lower <= target <= upper and target <= 1, got "
                f"lower {self.lower:g}, target {self.target:g}, upper {self.upper:g}"
            )


def replication_factor(load: float, capacity: float, target: float) -> float:
    """p of Algorithm 2: duplicates an instance owes, or minus its probability of going."""
    return load / (target * capacity) - 1.0


def change(
    load: float,
    capacity: float,
    band: LoadBand,
    keeper: bool,
    generator: np.random.Generator,
) -> int:
    """What one instance does (Algorithm 11): duplicate itself so often, go (-1), or nothing."""
    factor = replication_factor(load, capacity, band.target)
    if load >= band.upper * capacity:
        whole = int(factor)
        return whole + int(generator.random() < factor - whole)
    if load <= band.lower * capacity and not keeper:
        return -int(generator.random() < -factor)
    return 0
