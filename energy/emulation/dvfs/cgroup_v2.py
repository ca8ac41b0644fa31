"""Throttling by `cpu.max` of cgroup version 2, where the cpu controller reaches us.

Only the nearest group above this process that already hands the cpu controller down is used:
switching it on in a group of somebody else is not this program's business. Unlike in version 1, a
process that moves leaves all limits of its former group, not only that of the CPU.
"""

import errno
from pathlib import PurePosixPath

from energy.emulation.dvfs.cgroup import GroupTree, Hierarchy, find_hierarchy, group_of
from energy.emulation.dvfs.group_throttle import BURST_US, GroupThrottle, Quota
from energy.errors import ThrottleUnavailable, ValueRejected, attribute_fault

LIMIT_FILE = "cpu.max"
BURST_FILE = "cpu.max.burst"


def cgroup_v2(tree: GroupTree | None = None) -> GroupThrottle:
    """A throttle in the hierarchy of version 2; `ThrottleUnavailable` says why there is none."""
    tree = tree or GroupTree()
    hierarchy = find_hierarchy(tree, None)
    if hierarchy is None:
        raise ThrottleUnavailable("cgroup-v2: no version 2 hierarchy is mounted")
    own = group_of(tree, hierarchy)
    if own is None:
        raise ThrottleUnavailable(
            f"cgroup-v2: the group of this process is not below {hierarchy.mount}"
        )
    return GroupThrottle("cgroup-v2", tree, hierarchy, _parent(tree, hierarchy, own), write_quota)


def write_quota(tree: GroupTree, folder: str, quota: Quota) -> None:
    _write(tree, f"{folder}/{LIMIT_FILE}", f"{quota.quota_us} {quota.period_us}")
    if tree.mode(f"{folder}/{BURST_FILE}") is not None:  # since kernel 5.14
        _write(tree, f"{folder}/{BURST_FILE}", str(BURST_US))


def _write(tree: GroupTree, path: str, wanted: str) -> None:
    try:
        tree.write(path, wanted)
        present = tree.read(path)
    except OSError as error:
        raise attribute_fault(path, "write", error) from error
    if present.split() != wanted.split():
        raise ValueRejected(path, f"write {wanted}, read back {present.strip()}", errno.EINVAL)


def _parent(tree: GroupTree, hierarchy: Hierarchy, own: str) -> str:
    folder = PurePosixPath(own)
    mount = PurePosixPath(hierarchy.mount)
    for candidate in (folder, *folder.parents):
        if candidate.is_relative_to(mount) and "cpu" in _controllers(
            tree, f"{candidate}/cgroup.subtree_control"
        ):
            return str(candidate)
    offered = " ".join(_controllers(tree, f"{mount}/cgroup.controllers")) or "none"
    raise ThrottleUnavailable(
        f"cgroup-v2: no group from {own} up to {mount} hands the cpu controller down "
        f"(controllers there: {offered}); set Delegate=cpu in the unit"
    )


def _controllers(tree: GroupTree, path: str) -> list[str]:
    try:
        return tree.read(path).split()
    except OSError:
        return []
