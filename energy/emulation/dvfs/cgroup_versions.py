"""Throttling by `cpu.cfs_quota_us` of the version 1 cpu controller, or `cpu.max` of version 2.

In version 2 only the nearest group above this process that already hands the cpu controller down is
used: switching it on in a group of somebody else is not this program's business. There, unlike in
version 1, a process that moves leaves all limits of its former group, not only that of the CPU.
"""

import errno
from collections.abc import Sequence
from pathlib import PurePosixPath

from energy.emulation.dvfs.cgroup import GroupTree, Hierarchy, find_hierarchy, group_of
from energy.emulation.dvfs.group_throttle import BURST_US, GroupThrottle, Quota
from energy.errors import ThrottleUnavailable, ValueRejected, attribute_fault


def cgroup_v1(tree: GroupTree | None = None) -> GroupThrottle:
    """A throttle below this process's own group; `ThrottleUnavailable` says why there is none."""
    tree = tree or GroupTree()
    hierarchy = find_hierarchy(tree, "cpu")
    if hierarchy is None:
        raise ThrottleUnavailable("cgroup-v1: no hierarchy with the cpu controller is mounted")
    own = _own_group(tree, hierarchy, "cgroup-v1")
    return GroupThrottle("cgroup-v1", tree, hierarchy, own, _write_quota_v1)


def cgroup_v2(tree: GroupTree | None = None) -> GroupThrottle:
    """A throttle in the hierarchy of version 2; `ThrottleUnavailable` says why there is none."""
    tree = tree or GroupTree()
    hierarchy = find_hierarchy(tree, None)
    if hierarchy is None:
        raise ThrottleUnavailable("cgroup-v2: no version 2 hierarchy is mounted")
    own = _own_group(tree, hierarchy, "cgroup-v2")
    parent = _delegating_group(tree, hierarchy, own)
    return GroupThrottle("cgroup-v2", tree, hierarchy, parent, _write_quota_v2)


def _own_group(tree: GroupTree, hierarchy: Hierarchy, backend: str) -> str:
    own = group_of(tree, hierarchy)
    if own is None:
        raise ThrottleUnavailable(
            f"{backend}: the group of this process is not below {hierarchy.mount}"
        )
    return own


def _write_quota_v1(tree: GroupTree, folder: str, quota: Quota) -> None:
    period_file = f"{folder}/cpu.cfs_period_us"
    writes = [
        (f"{folder}/cpu.cfs_quota_us", str(quota.quota_us)),
        (period_file, str(quota.period_us)),
    ]
    # Two files, so there is a state between: the longer period always belongs to it, or a group
    # whose parent is limited would for a moment ask for more than its parent has (EINVAL).
    if quota.period_us > int(_read(tree, period_file)):
        writes.reverse()
    _write(tree, writes, f"{folder}/cpu.cfs_burst_us")


def _write_quota_v2(tree: GroupTree, folder: str, quota: Quota) -> None:
    limit = f"{quota.quota_us} {quota.period_us}"
    _write(tree, [(f"{folder}/cpu.max", limit)], f"{folder}/cpu.max.burst")


def _write(tree: GroupTree, writes: Sequence[tuple[str, str]], burst_file: str) -> None:
    """All of it, the burst where the kernel has one (since 5.14), and read it back."""
    if tree.mode(burst_file) is not None:
        writes = [*writes, (burst_file, str(BURST_US))]
    for path, wanted in writes:
        try:
            tree.write(path, wanted)
        except OSError as error:
            raise attribute_fault(path, "write", error) from error
    for path, wanted in writes:
        present = _read(tree, path)
        if present.split() != wanted.split():
            raise ValueRejected(path, f"write {wanted}, read back {present.strip()}", errno.EINVAL)


def _read(tree: GroupTree, path: str) -> str:
    try:
        return tree.read(path)
    except OSError as error:
        raise attribute_fault(path, "read", error) from error


def _delegating_group(tree: GroupTree, hierarchy: Hierarchy, own: str) -> str:
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
