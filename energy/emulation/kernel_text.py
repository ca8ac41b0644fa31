"""How the kernel reads what is written to sysfs: each function mirrors one parser of its C library.

They refuse with the kernel's own error number, and they are as generous as the kernel is: octal and
hexadecimal numbers, a plus sign, junk after a scanned number.
"""

import errno
import os
import re
from itertools import groupby

_SPACE = " \t\n\v\f\r"
_UNSIGNED_LONG = re.compile(r"\+?(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))\n?")
_SCANNED_UNSIGNED = re.compile(rf"[{_SPACE}]*([0-9]+)")
_SCANNED_INTEGER = re.compile(rf"[{_SPACE}]*(-?[0-9]+)")


class KernelRefusal(Exception):
    """The kernel answers a read or write with this error number."""

    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.number = number


def unsigned_long(text: str) -> int:
    """kstrtoul(text, base 0): 0x is hexadecimal, a leading 0 octal, one line end may follow."""
    matched = _UNSIGNED_LONG.fullmatch(text)
    if matched is None:
        raise KernelRefusal(errno.EINVAL)
    hexadecimal, octal, decimal = matched.groups()
    if hexadecimal is not None:
        value = int(hexadecimal, 16)
    elif octal is not None:
        value = int(octal, 8)
    else:
        value = int(decimal)
    if value >= 1 << 64:
        raise KernelRefusal(errno.ERANGE)
    return value


def frequency_request(text: str) -> int | None:
    """A limit in kHz: an unsigned long cut down to 32 bits and taken as a signed number.

    None for -1, the only negative one that the kernel takes: it means the default, no limit."""
    low_word = unsigned_long(text) & 0xFFFF_FFFF
    value = low_word - (1 << 32) if low_word >= 1 << 31 else low_word
    if value < -1:
        raise KernelRefusal(errno.EINVAL)
    return None if value == -1 else value


def scanned_unsigned(text: str) -> int:
    """sscanf("%u"): leading blanks and anything after the digits are ignored."""
    matched = _SCANNED_UNSIGNED.match(text)
    if matched is None:
        raise KernelRefusal(errno.EINVAL)
    return int(matched[1]) & 0xFFFF_FFFF


def scanned_flag(text: str) -> bool:
    """sscanf("%d") of a switch that must be 0 or 1."""
    matched = _SCANNED_INTEGER.match(text)
    if matched is None or int(matched[1]) not in {0, 1}:
        raise KernelRefusal(errno.EINVAL)
    return int(matched[1]) == 1


def flag(text: str) -> bool:
    """kstrtoint(text, base 10) of a switch that must be 0 or 1: no junk, one line end."""
    digits = text.removesuffix("\n").removeprefix("+").removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or int(digits) > 1 or text.startswith("-1"):
        raise KernelRefusal(errno.EINVAL)
    return int(digits) == 1


def scanned_word(text: str, longest: int = 15) -> str:
    """sscanf("%15s"): the first word, cut at 15 characters or another length."""
    words = text.split(maxsplit=1)
    if not words:
        raise KernelRefusal(errno.EINVAL)
    return words[0][:longest]


def boolean(text: str) -> bool:
    """kstrtobool: looks at the first one or two characters only."""
    first, pair = text[:1].lower(), text[:2].lower()
    if first in {"y", "t", "1"} or pair == "on":
        return True
    if first in {"n", "f", "0"} or pair == "of":
        return False
    raise KernelRefusal(errno.EINVAL)


def cpu_list(cpus: list[int] | tuple[int, ...]) -> str:
    """The kernel's list format, "0-3,8": CPUs in ascending order."""
    # Neighbours have the same distance from their place in the list.
    by_distance = groupby(enumerate(cpus), lambda numbered: numbered[1] - numbered[0])
    runs = [[cpu for _, cpu in run] for _, run in by_distance]
    return ",".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
