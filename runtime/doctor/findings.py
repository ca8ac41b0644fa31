"""What the doctor says: findings, each with a level and, where something is wrong, a remedy."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]
Area = Literal["host", "frequency", "energy", "emulation", "competitors", "software"]


@dataclass(frozen=True, slots=True)
class Finding:
    area: Area
    level: Level
    """A problem prevents capping or metering; a warning is worth a look."""
    message: str
    fix: str | None = None


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as the kernel lists CPUs: "0-3,7"."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(str(end) for end in part) for part in parts)
