"""When the controller may not change anything: somebody paused it, or an excluded period runs.

A pause is a file beside the journal, so that it survives restarts and needs no connection to the
controller. Everything goes on but the changes: measurements, decisions, the journal. Agents keep
their leases and hosts the frequency they have.
"""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from mpc.events import Event, EventKind
from runtime.config import Config
from runtime.config.cron import Period, containing, parse_period

NAME = "paused"


class Pause(msgspec.Struct, frozen=True):
    since_s: float
    """Wall clock."""
    reason: str = ""


def pause(folder: Path, at_s: float, reason: str = "") -> bool:
    """False if it is paused already; the first pause stays. Raises `OSError`."""
    new = folder / f"{NAME}.{os.getpid()}.new"
    new.write_bytes(msgspec.json.encode(Pause(at_s, reason)))
    try:
        # Unlike a rename, a link never replaces the pause of somebody else.
        os.link(new, folder / NAME)
    except FileExistsError:
        return False
    finally:
        new.unlink()
    return True


def resume(folder: Path) -> bool:
    """False if it was not paused. Raises `OSError`."""
    try:
        (folder / NAME).unlink()
    except FileNotFoundError:
        return False
    return True


def paused(folder: Path) -> Pause | None:
    """A file that cannot be read is a pause, too: somebody meant one."""
    try:
        data = (folder / NAME).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        return Pause(0.0, f"the file cannot be read: {error.strerror}")
    try:
        return msgspec.json.decode(data, type=Pause)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Pause(0.0)


class Holds:
    """Asked once a step."""

    def __init__(
        self,
        folder: Path,
        excluded: Sequence[Period] = (),
        timezone: tzinfo | None = None,
        wall_s: Callable[[], float] | None = None,
    ) -> None:
        """Without a time zone periods are in local time."""
        self._folder = folder
        self._excluded = tuple(excluded)
        self._timezone = timezone
        self._wall_s = wall_s or (lambda: datetime.now().timestamp())

    @classmethod
    def of(cls, config: Config, folder: Path, wall_s: Callable[[], float]) -> "Holds":
        zone = config.schedule.timezone
        return cls(
            folder,
            [parse_period(text) for text in config.schedule.exclude],
            None if zone is None else ZoneInfo(zone),
            wall_s,
        )

    def blocking(self) -> Event | None:
        """Why nothing may be changed now; None if it may."""
        pause = paused(self._folder)
        if pause is not None:
            return Event(EventKind.HELD_PAUSED, pause.reason or "paused by an operator")
        if self._excluded:
            moment = datetime.fromtimestamp(self._wall_s(), self._timezone)
            period = containing(self._excluded, moment)
            if period is not None:
                return Event(EventKind.HELD_EXCLUDED_PERIOD, period.text)
        return None
