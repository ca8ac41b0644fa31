"""The formats, orders and errors of both cgroup versions, on a cgroup file system in a folder."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.dvfs.cgroup import GroupTree, find_hierarchy, group_of, pids_in
from energy.emulation.dvfs.cgroup_versions import cgroup_v1, cgroup_v2
from energy.emulation.dvfs.group_throttle import BURST_US, PERIOD_US, GroupThrottle, quota_for
from energy.errors import AttributeFault, ThrottleUnavailable, ValueRejected
from energy.processes import Process
from tests.energy.emulation.dvfs.conftest import Children
from tests.energy.emulation.dvfs.fake_cgroups import FakeCgroups

MAKERS = {1: cgroup_v1, 2: cgroup_v2}


@pytest.fixture(params=[1, 2])
def groups(request: pytest.FixtureRequest, tmp_path: Path) -> FakeCgroups:
    tree = FakeCgroups(tmp_path, request.param)
    if request.param == 2:
        tree.write(f"{tree.mount}/cgroup.subtree_control", "cpu memory")
    return tree


def throttle_on(tree: FakeCgroups) -> GroupThrottle:
    return MAKERS[tree.version](tree)


def folders(tree: FakeCgroups) -> list[str]:
    return [
        f"{tree.mount}/{name}" for name in tree.names(tree.mount) if name.startswith("foresight-")
    ]


def quota(tree: FakeCgroups, folder: str) -> tuple[int, int]:
    if tree.version == 2:
        quota_us, period_us = tree.read(f"{folder}/cpu.max").split()
        return int(quota_us), int(period_us)
    return (
        int(tree.read(f"{folder}/cpu.cfs_quota_us")),
        int(tree.read(f"{folder}/cpu.cfs_period_us")),
    )


@given(st.floats(0.002, 1024))
def test_a_quota_is_the_share_and_never_too_small_for_the_kernel(cores: float) -> None:
    wanted = quota_for(cores)
    assert wanted.quota_us >= max(BURST_US, 1_000)
    assert PERIOD_US <= wanted.period_us <= 1_000_000
    assert wanted.quota_us / wanted.period_us == pytest.approx(cores, rel=1e-3)


@pytest.mark.parametrize("cores", [0.0, -1.0, float("nan")])
def test_no_quota_for_no_cores(cores: float) -> None:
    with pytest.raises(ValueError, match="cores must be positive"):
        quota_for(cores)


def test_a_family_gets_its_share_and_goes_back_where_it_was(
    groups: FakeCgroups, children: Children
) -> None:
    first, second = children.busy(), children.busy()
    origin = groups.group("service")
    for process, group in ((first, "/service"), (second, "/")):
        groups.put(process.pid, group)
    throttle = throttle_on(groups)
    try:
        throttle.attach("tree", [first, second], cores=2)
        (folder,) = folders(groups)
        assert quota(groups, folder) == (20_000, 10_000)
        assert set(pids_in(groups, folder)) == {first.pid, second.pid}
        throttle.set_share("tree", 0.6)
        assert quota(groups, folder) == (12_000, 10_000)
        throttle.set_share("tree", 0.02)
        assert quota(groups, folder) == (2_000, 50_000)
        throttle.set_share("tree", 0.5)
        assert quota(groups, folder) == (10_000, 10_000)
        throttle.detach("tree")
        assert folders(groups) == []
        assert pids_in(groups, origin) == (first.pid,)
        assert pids_in(groups, groups.mount) == (second.pid,)
    finally:
        throttle.close()


def test_between_two_writes_of_version_1_the_group_never_has_more_than_before_or_after(
    tmp_path: Path,
) -> None:
    groups = FakeCgroups(tmp_path, 1)
    throttle = cgroup_v1(groups)
    try:
        throttle.attach("tree", (), cores=1)
        for share in (0.02, 0.9, 0.1, 1.0):
            (folder,) = folders(groups)
            before = quota(groups, folder)
            groups.writes.clear()
            throttle.set_share("tree", share)
            after = quota(groups, folder)
            name = groups.writes[0][0].rpartition("/")[2]
            between = (after[0], before[1]) if name == "cpu.cfs_quota_us" else (before[0], after[1])
            most = max(before[0] / before[1], after[0] / after[1])
            assert between[0] / between[1] <= most
    finally:
        throttle.close()


def test_children_that_came_later_are_taken_in_once_and_sent_home(
    groups: FakeCgroups, children: Children
) -> None:
    parent, late, gone = children.busy(), children.busy(), Process(1 << 22, 1)
    groups.group("service")
    groups.put(parent.pid, "/service")
    groups.put(late.pid, "/")
    throttle = throttle_on(groups)
    try:
        throttle.attach("tree", [parent, gone], cores=1)
        throttle.update("tree", [parent, late, gone])
        (folder,) = folders(groups)
        assert set(pids_in(groups, folder)) == {parent.pid, late.pid}
        groups.writes.clear()
        throttle.update("tree", [parent, late])
        assert groups.writes == []
        # Born in the group, so nobody knows another place for it than its family's.
        inherited = children.busy()
        groups.put(inherited.pid, "/")
        groups.write(f"{folder}/cgroup.procs", str(inherited.pid))
    finally:
        throttle.close()
    assert folders(groups) == []
    assert set(pids_in(groups, f"{groups.mount}/service")) == {parent.pid, inherited.pid}
    assert pids_in(groups, groups.mount) == (late.pid,)


def test_a_group_that_is_gone_is_replaced_by_the_one_above(
    groups: FakeCgroups, children: Children
) -> None:
    process = children.busy()
    origin = groups.group("service")
    groups.put(process.pid, "/service")
    throttle = throttle_on(groups)
    try:
        throttle.attach("tree", [process], cores=1)
        groups.remove(origin)
    finally:
        throttle.close()
    assert folders(groups) == []
    assert pids_in(groups, groups.mount) == (process.pid,)


def test_a_quota_that_the_kernel_refuses_leaves_nothing_behind(
    groups: FakeCgroups, children: Children
) -> None:
    process = children.busy()
    groups.put(process.pid, "/")
    throttle = throttle_on(groups)
    try:
        groups.most_us = 10_000
        with pytest.raises(ValueRejected, match=r"EINVAL"):
            throttle.attach("tree", [process], cores=2)
        assert folders(groups) == []
        throttle.attach("tree", [process], cores=1)
    finally:
        throttle.close()
    assert folders(groups) == []


def test_wrong_words_are_refused_before_anything_is_touched(groups: FakeCgroups) -> None:
    throttle = throttle_on(groups)
    try:
        throttle.attach("tree", (), cores=1)
        groups.writes.clear()
        with pytest.raises(ValueError, match="attached already"):
            throttle.attach("tree", (), cores=1)
        for share in (0.0, 1.01, float("nan")):
            with pytest.raises(ValueError, match="share must be above 0 and at most 1"):
                throttle.set_share("tree", share)
        assert groups.writes == []
    finally:
        throttle.close()


def test_a_group_that_vanished_is_an_error_with_its_path(groups: FakeCgroups) -> None:
    throttle = throttle_on(groups)
    try:
        throttle.attach("tree", (), cores=1)
        (folder,) = folders(groups)
        groups.remove(folder)
        with pytest.raises(AttributeFault, match=folder):
            throttle.update("tree", ())
    finally:
        throttle.close()


def test_what_a_dead_owner_left_is_swept_and_what_a_living_one_has_is_not(
    groups: FakeCgroups, children: Children
) -> None:
    process = children.busy()
    groups.put(process.pid, "/")
    left = groups.group(f"foresight-{process.pid}-{process.start_ticks + 1}-1")
    kept = groups.group(f"foresight-{process.pid}-{process.start_ticks}-1")
    groups.write(f"{left}/cgroup.procs", str(process.pid))
    throttle_on(groups).close()
    assert folders(groups) == [kept]
    assert pids_in(groups, groups.mount) == (process.pid,)


def test_a_kernel_that_swallows_the_quota_is_found_out(groups: FakeCgroups) -> None:
    groups.stuck = frozenset({"cpu.cfs_quota_us", "cpu.max"})
    with pytest.raises(ThrottleUnavailable, match=r"cgroup-v[12]: .*read back"):
        throttle_on(groups)
    assert folders(groups) == []


def test_without_burst_the_quota_alone_does(groups: FakeCgroups) -> None:
    groups.files = {
        name: text
        for name, text in groups.files.items()
        if not name.endswith(("burst", "burst_us"))
    }
    throttle = throttle_on(groups)
    throttle.attach("tree", (), cores=1)
    throttle.close()
    assert folders(groups) == []


def test_version_1_needs_the_cpu_controller(tmp_path: Path) -> None:
    groups = FakeCgroups(tmp_path, 2)
    with pytest.raises(ThrottleUnavailable, match="no hierarchy with the cpu controller"):
        cgroup_v1(groups)


def test_version_2_needs_the_cpu_controller_handed_down(tmp_path: Path) -> None:
    groups = FakeCgroups(tmp_path, 2)
    with pytest.raises(ThrottleUnavailable, match=r"controllers there: cpu memory.*Delegate=cpu"):
        cgroup_v2(groups)
    with pytest.raises(ThrottleUnavailable, match="no version 2 hierarchy"):
        cgroup_v2(FakeCgroups(tmp_path / "other", 1))


def test_version_2_uses_the_nearest_group_that_hands_it_down(tmp_path: Path) -> None:
    groups = FakeCgroups(tmp_path, 2)
    groups.write(f"{groups.mount}/cgroup.subtree_control", "cpu")
    slice_folder = groups.group("a.slice")
    groups.write(f"{slice_folder}/cgroup.subtree_control", "cpu memory")
    groups.group("a.slice/agent.service")
    groups.put(os.getpid(), "/a.slice/agent.service")
    throttle = cgroup_v2(groups)
    throttle.attach("tree", (), cores=1)
    assert any(name.startswith("foresight-") for name in groups.names(slice_folder))
    throttle.close()


def test_a_container_sees_its_part_of_the_hierarchy(tmp_path: Path) -> None:
    groups = FakeCgroups(tmp_path, 1)
    groups.put_mountinfo(root="/docker/abc", mount=r"/sys/fs/my\040cgroup")
    hierarchy = find_hierarchy(groups, "cpu")
    assert hierarchy is not None
    assert hierarchy.mount == "/sys/fs/my cgroup"
    for group, folder in {
        "/docker/abc": "/sys/fs/my cgroup",
        "/docker/abc/worker": "/sys/fs/my cgroup/worker",
        "/docker/other": None,
        "/docker/abcdef": None,
        "/docker/abc/../other": None,
    }.items():
        groups.put(os.getpid(), group)
        assert group_of(groups, hierarchy) == folder
    groups.put(os.getpid(), "/docker/other")
    with pytest.raises(ThrottleUnavailable, match="not below /sys/fs/my cgroup"):
        cgroup_v1(groups)


def test_a_host_where_groups_cannot_be_made_says_so(tmp_path: Path) -> None:
    groups = ReadOnlyCgroups(tmp_path, 1)
    with pytest.raises(ThrottleUnavailable, match=r"cgroup-v1: .*read-only.*EROFS"):
        cgroup_v1(groups)


class ReadOnlyCgroups(FakeCgroups):
    def make(self, folder: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), folder)


def test_lists_longer_than_a_page_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in range(1, 20_001)))
    assert pids_in(GroupTree(tmp_path), "") == tuple(range(1, 20_001))
