"""Whether files that decide what the agent does are in safe hands.

Whoever may write a configuration or a certificate, or replace it through one of the folders above
it, commands a root daemon; whoever may read a key can pose as its owner. Both are refused.
"""

import os
import stat
from pathlib import Path

from runtime.config.strict import ConfigError

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_READ_OR_WRITE = stat.S_IRWXG | stat.S_IRWXO


def check_unwritable(path: Path) -> None:
    """Refuse a file that anybody but root and this user may write, rename or replace."""
    status = _check_file(path)
    if status.st_mode & _OTHERS_WRITE:
        raise ConfigError(
            str(path), f"mode {_mode(status)}", "others must not write it: chmod go-w"
        )


def check_private(path: Path) -> None:
    """Refuse a key that anybody but root and this user may read."""
    status = _check_file(path)
    if status.st_mode & _OTHERS_READ_OR_WRITE:
        raise ConfigError(str(path), f"mode {_mode(status)}", "others must not read it: chmod 0600")


def _check_file(path: Path) -> os.stat_result:
    try:
        # A link is as safe as the folders of both its ends.
        real = path.resolve(strict=True)
        status = real.stat()
        folders = {*path.absolute().parents, *real.parents}
        for folder in sorted(folders, key=lambda each: len(each.parts)):
            _check_folder(path, folder)
    except OSError as error:
        raise ConfigError(str(path), "cannot be read", error.strerror or str(error)) from None
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(str(path), "must be a regular file")
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigError(str(path), f"owner {status.st_uid}", "must belong to root or the agent")
    return status


def _check_folder(path: Path, folder: Path) -> None:
    status = folder.stat()
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigError(
            str(path), f"owner {status.st_uid} of {folder}", "must belong to root or the agent"
        )
    # In a sticky folder such as /tmp only the owner of a file may replace it.
    if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
        raise ConfigError(
            str(path), f"mode {_mode(status)} of {folder}", "others must not write it: chmod go-w"
        )


def _mode(status: os.stat_result) -> str:
    return f"{stat.S_IMODE(status.st_mode):04o}"
