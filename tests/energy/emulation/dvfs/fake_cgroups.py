"""A cgroup file system in a plain folder: groups come with their files, processes move in them.

It answers as the kernel does: EINVAL for a quota that is too small or above the parent's, EBUSY
for removing a group with processes, ESRCH for a process that is gone.
"""

import errno
import os
from pathlib import Path

from energy.emulation.dvfs.cgroup import GroupTree
from energy.processes import find_process

V1_MOUNT = "/sys/fs/cgroup/cpu"
V2_MOUNT = "/sys/fs/cgroup"
V1_FILES = {
    "cpu.cfs_quota_us": "-1",
    "cpu.cfs_period_us": "100000",
    "cpu.cfs_burst_us": "0",
    "cgroup.procs": "",
}
V2_FILES = {
    "cpu.max": "max 100000",
    "cpu.max.burst": "0",
    "cgroup.procs": "",
    "cgroup.controllers": "cpu memory",
    "cgroup.subtree_control": "",
}
V1_MOUNTINFO = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "32 31 0:29 {root} {mount} rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
)
V2_MOUNTINFO = "30 23 0:26 {root} {mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


class FakeCgroups(GroupTree):
    def __init__(self, root: Path, version: int) -> None:
        super().__init__(root)
        self.version = version
        self.mount = V1_MOUNT if version == 1 else V2_MOUNT
        self.files = V1_FILES if version == 1 else V2_FILES
        self.writes: list[tuple[str, str]] = []
        self.stuck: frozenset[str] = frozenset()
        """Names of files that keep their value whatever is written."""
        self.most_us: int | None = None
        """Above this quota the kernel says EINVAL, as below a limited parent."""
        self.put_mountinfo()
        Path(f"{root}{self.mount}").mkdir(parents=True)
        self._fill(self.mount)
        self.put(os.getpid(), "/")

    def put_mountinfo(self, root: str = "/", mount: str | None = None) -> None:
        template = V1_MOUNTINFO if self.version == 1 else V2_MOUNTINFO
        self._text("/proc/self/mountinfo", template.format(root=root, mount=mount or self.mount))

    def put(self, pid: int, group: str) -> None:
        """Let a process be in a group; this one is also "self"."""
        line = f"4:cpu,cpuacct:{group}\n" if self.version == 1 else f"0::{group}\n"
        text = f"9:name=systemd:/elsewhere\n{line}"
        self._text(f"/proc/{pid}/cgroup", text)
        if pid == os.getpid():
            self._text("/proc/self/cgroup", text)

    def group(self, name: str) -> str:
        """A group below the mount, made if need be."""
        folder = f"{self.mount}/{name}"
        Path(self._place(folder)).mkdir(exist_ok=True)
        self._fill(folder)
        return folder

    def make(self, folder: str) -> None:
        super().make(folder)
        self._fill(folder)

    def remove(self, folder: str) -> None:
        place = Path(self._place(folder))
        if not place.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such group", folder)
        if self.read(f"{folder}/cgroup.procs"):
            raise OSError(errno.EBUSY, "has processes", folder)
        for file in place.iterdir():
            file.unlink()
        super().remove(folder)

    def write(self, path: str, text: str) -> None:
        self.writes.append((path, text))
        folder, _, name = path.rpartition("/")
        if name == "cgroup.procs":
            self._move(int(text), folder)
            return
        if name in {"cpu.cfs_quota_us", "cpu.max"}:
            quota_us = int(text.split(maxsplit=1)[0])
            if quota_us < 1_000 or (self.most_us is not None and quota_us > self.most_us):
                raise OSError(errno.EINVAL, "quota", path)
        if name not in self.stuck:
            super().write(path, text + "\n")

    def _move(self, pid: int, folder: str) -> None:
        if find_process(pid) is None:
            raise ProcessLookupError(errno.ESRCH, "no such process", str(pid))
        if not Path(self._place(folder)).is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such group", folder)
        for other in Path(self._place(self.mount)).rglob("cgroup.procs"):
            kept = [line for line in other.read_text().splitlines() if line != str(pid)]
            other.write_text("".join(f"{line}\n" for line in kept))
        procs = Path(self._place(f"{folder}/cgroup.procs"))
        procs.write_text(procs.read_text() + f"{pid}\n")
        self.put(pid, folder.removeprefix(self.mount) or "/")

    def _fill(self, folder: str) -> None:
        for name, text in self.files.items():
            path = Path(self._place(f"{folder}/{name}"))
            if not path.exists():
                path.write_text(f"{text}\n" if text else "")

    def _text(self, path: str, text: str) -> None:
        place = Path(self._place(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
