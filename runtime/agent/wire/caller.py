"""Who is calling: established by the network, believed by the core."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Caller:
    """A name that was proven, by a certificate or by the kernel, and what it may do."""

    name: str
    kind: Literal["certificate", "local", "loopback"]
    may_command: bool
    administrator: bool
