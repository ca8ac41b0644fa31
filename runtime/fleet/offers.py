"""What the hosts offer, asked of their agents before the controller chooses from it.

A start waits for the agents, but not for ever: one that is down must not keep the application
waiting. What is missing then is what the last start noted beside the journal. With neither, the
hosts stay at their own speed, as without agents; an agent that comes later is read, and its host's
frequency is set from the next start on.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from runtime.control.starts import read_starts
from runtime.fleet.fleet import Fleet
from runtime.fleet.state import HostState
from runtime.fleet.targets import HostFrequencies

WAIT_S = 20.0
"""Agents answer within a second; a loaded machine takes a few to reach all of them."""
NOTICE_S = 2.0
_POLL_S = 0.05
_log = logging.getLogger("foresight")


def offered_frequencies(
    fleet: Fleet,
    journal_folder: Path,
    wait_s: float = WAIT_S,
    *,
    monotonic_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[HostFrequencies, ...]:
    """Of every host of a started fleet that has answered, or as noted at the last start; none: no
    host has a frequency to set, or nothing is known."""
    began_s, told = monotonic_s(), False
    while silent := _silent(fleet):
        waited_s = monotonic_s() - began_s
        if waited_s >= wait_s:
            break
        if waited_s >= NOTICE_S and not told:
            told = True
            _log.info("asking the agents what their hosts offer: %s", ", ".join(silent))
        sleep(_POLL_S)
    hosts = fleet.state().hosts
    found = tuple(host.frequencies for host in hosts if host.frequencies is not None)
    for host in hosts:
        _tell(host)
    if found or not silent:
        if silent:
            _log.warning("no answer from %s: planned with the other hosts", ", ".join(silent))
        return found
    last = deque(read_starts(journal_folder), maxlen=1)
    if last and last[0].hosts:
        _log.warning("no agent answers: planned with the frequencies of the last start")
        return last[0].hosts
    _log.warning(
        "no agent answers: hosts stay at their own speed until the controller starts again"
    )
    return ()


def _silent(fleet: Fleet) -> list[str]:
    return [host.name for host in fleet.state().hosts if not host.greeted]


def _tell(host: HostState) -> None:
    offer = host.frequencies
    if offer is not None:
        turbo = {True: ", turbo on", False: ", turbo off", None: ""}[offer.turbo]
        base = "" if offer.base_khz is None else f", base {offer.base_khz} kHz"
        _log.info(
            "%s: %d to %d kHz%s%s", host.name, offer.lowest_khz, offer.highest_khz, base, turbo
        )
