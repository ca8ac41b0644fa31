"""Runs a program in the mount namespace of another process: `python enter.py PID PROGRAM ...`.

It replaces itself by the program, which so keeps this process's id, working folder and
environment. Only the standard library is imported, so that it starts at once.
"""

import ctypes
import os
import sys
from pathlib import Path

_CLONE_NEWNS = 0x20000


def enter(pid: int) -> None:
    """Joins the namespace; the working folder is the one of the same name there."""
    folder = Path.cwd()
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    c = ctypes.CDLL(None, use_errno=True)
    if c.setns(namespace, _CLONE_NEWNS) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot join the namespace of {pid}: {os.strerror(number)}")
    os.close(namespace)
    os.chdir(folder)


if __name__ == "__main__":
    enter(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
