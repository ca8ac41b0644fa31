"""One file of a frequency policy at a time: typed values in and out, typed errors instead of errno.

Nothing here knows what a value means; it only makes sure that it is one.
"""

import errno

from energy.cpufreq.policy import Attribute
from energy.errors import HostError, PolicyInactive, ValueGarbled, attribute_fault
from energy.tree import CPUFREQ, Tree

_MOST_DIGITS = 10
"""Frequencies are 32-bit in the kernel; more digits are no frequency."""
_MOST_CPUS = 65_536


def policy_path(policy: str, attribute: str) -> str:
    return f"{CPUFREQ}/{policy}/{attribute}"


def read_text(tree: Tree, policy: str, attribute: str) -> str:
    path = policy_path(policy, attribute)
    try:
        return tree.read(path).strip()
    except OSError as error:
        raise _fault(policy, path, "read", error) from error


def read_khz(tree: Tree, policy: str, attribute: str) -> int:
    text = read_text(tree, policy, attribute)
    khz = parse_number(text)
    if khz is None:
        raise ValueGarbled(policy_path(policy, attribute), text)
    return khz


def write_text(tree: Tree, policy: str, attribute: Attribute, text: str) -> None:
    path = policy_path(policy, attribute)
    try:
        tree.write(path, text)
    except OSError as error:
        raise _fault(policy, path, "write", error) from error


def parse_number(text: str) -> int | None:
    """A plain decimal as the kernel prints it; None for anything else."""
    if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS:
        return int(text)
    return None


def parse_cpus(text: str) -> tuple[int, ...] | None:
    """CPU lists of both kinds, "0 1" and "0-3,8", ascending; None for anything else."""
    cpus: set[int] = set()
    for part in text.replace(",", " ").split():
        first_text, dash, last_text = part.partition("-")
        first = parse_number(first_text)
        last = parse_number(last_text) if dash else first
        if first is None or last is None or not first <= last < _MOST_CPUS:
            return None
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def _fault(policy: str, path: str, action: str, error: OSError) -> HostError:
    if error.errno == errno.EBUSY:
        return PolicyInactive(policy)
    return attribute_fault(path, action, error)
