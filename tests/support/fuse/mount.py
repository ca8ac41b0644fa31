"""Mounting, through the C library: a private mount namespace and a FUSE file system in it."""

import ctypes
import os
from pathlib import Path

DEVICE = "/dev/fuse"

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 0x2, 0x4, 0x8
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MNT_DETACH = 0x2
_CLONE_NEWNS = 0x20000

_c = ctypes.CDLL(None, use_errno=True)


def enter_private_namespace() -> None:
    """From here on, what this process mounts is seen by nobody outside; call before any thread."""
    _check(_c.unshare(_CLONE_NEWNS), "unshare the mount namespace")
    # A new namespace still passes its mounts on to where it was copied from until it is private.
    _check(_c.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "make / private")


def mount_fuse(folder: str | Path) -> int:
    """Mounts a connection on a folder and returns its descriptor; nothing is answered yet."""
    device = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    # No default_permissions: the server checks modes as sysfs does, which is stricter to root,
    # and the kernel then needs no attributes of the folders it walks through.
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    result = _c.mount(b"foresight", os.fsencode(folder), b"fuse", flags, options.encode())
    try:
        _check(result, f"mount on {folder}")
    except OSError:
        os.close(device)
        raise
    return device


def unmount(folder: str | Path) -> None:
    """Takes the file system out of the namespace; who still has a file of it open keeps that."""
    _check(_c.umount2(os.fsencode(folder), _MNT_DETACH), f"unmount {folder}")


def _check(result: int, action: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot {action}: {os.strerror(number)}")
