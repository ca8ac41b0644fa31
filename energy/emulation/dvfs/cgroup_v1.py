"""Throttling by `cpu.cfs_quota_us` of the version 1 cpu controller."""

import errno

from energy.emulation.dvfs.cgroup import GroupTree, find_hierarchy, group_of
from energy.emulation.dvfs.group_throttle import BURST_US, GroupThrottle, Quota
from energy.errors import ThrottleUnavailable, ValueRejected, attribute_fault

QUOTA_FILE = "cpu.cfs_quota_us"
PERIOD_FILE = "cpu.cfs_period_us"
BURST_FILE = "cpu.cfs_burst_us"


def cgroup_v1(tree: GroupTree | None = None) -> GroupThrottle:
    """A throttle below this process's own group; `ThrottleUnavailable` says why there is none."""
    tree = tree or GroupTree()
    hierarchy = find_hierarchy(tree, "cpu")
    if hierarchy is None:
        raise ThrottleUnavailable("cgroup-v1: no hierarchy with the cpu controller is mounted")
    parent = group_of(tree, hierarchy)
    if parent is None:
        raise ThrottleUnavailable(
            f"cgroup-v1: the group of this process is not below {hierarchy.mount}"
        )
    return GroupThrottle("cgroup-v1", tree, hierarchy, parent, write_quota)


def write_quota(tree: GroupTree, folder: str, quota: Quota) -> None:
    quota_file, period_file = f"{folder}/{QUOTA_FILE}", f"{folder}/{PERIOD_FILE}"
    writes = [(quota_file, quota.quota_us), (period_file, quota.period_us)]
    # Two files, so there is a state between: the longer period always belongs to it, or a group
    # whose parent is limited would for a moment ask for more than its parent has (EINVAL).
    if quota.period_us > int(_read(tree, period_file)):
        writes.reverse()
    burst_file = f"{folder}/{BURST_FILE}"
    if tree.mode(burst_file) is not None:  # since kernel 5.14
        writes.append((burst_file, BURST_US))
    for path, value in writes:
        try:
            tree.write(path, str(value))
        except OSError as error:
            raise attribute_fault(path, "write", error) from error
    for path, value in writes:
        if int(_read(tree, path)) != value:
            raise ValueRejected(path, f"write {value}, read back", errno.EINVAL)


def _read(tree: GroupTree, path: str) -> str:
    try:
        return tree.read(path)
    except OSError as error:
        raise attribute_fault(path, "read", error) from error
