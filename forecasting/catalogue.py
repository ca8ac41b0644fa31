"""Every forecaster by its name, one line each; those of other distributions are found through the
entry points `foresight.forecasters`.

Without numpy: reading a configuration must not import what forecasts.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from forecasting.third_party import Discovery, discover

GROUP = "foresight.forecasters"


@dataclass(frozen=True, slots=True)
class ForecasterEntry:
    name: str
    model: str
    """Where its class is, "package.module:Class": a `forecasting.contract.Model`."""
    seasonal: bool = False
    """Whether its constructor takes `season_steps`."""
    guarded: bool = False
    """Whether it copes with gaps and absurd values itself, as a `forecasting.contract.Forecaster`
    must; otherwise it is wrapped into one that does."""

    def model_type(self) -> Callable[..., Any]:
        module, _, name = self.model.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


_OWN = (
    ForecasterEntry("last", "forecasting.last:LastValue"),
    ForecasterEntry("mean-3", "forecasting.recent_mean:RecentMean"),
    ForecasterEntry("ses", "forecasting.ses:SimpleSmoothing"),
    ForecasterEntry("holt", "forecasting.holt:Holt"),
    ForecasterEntry("holt-winters", "forecasting.holt_winters:HoltWinters", seasonal=True),
    ForecasterEntry("mixture", "forecasting.mixture:Mixture", seasonal=True, guarded=True),
)


@cache
def third_party_forecasters() -> Discovery[ForecasterEntry]:
    return discover(GROUP, ForecasterEntry, _check)


def forecaster_entries() -> tuple[ForecasterEntry, ...]:
    return (*_OWN, *third_party_forecasters().usable)


def forecaster_names() -> tuple[str, ...]:
    return tuple(entry.name for entry in forecaster_entries())


def forecaster_pattern() -> str:
    """Of every name, the broken ones too: what is wrong with them is told when they are chosen."""
    broken = (each.name for each in third_party_forecasters().broken)
    return f"^({'|'.join(re.escape(name) for name in (*forecaster_names(), *broken))})$"


def find_forecaster(name: str) -> ForecasterEntry:
    for entry in forecaster_entries():
        if entry.name == name:
            return entry
    for broken in third_party_forecasters().broken:
        if broken.name == name:
            raise ValueError(f"forecaster {name!r} cannot be loaded: {broken.reason}")
    raise ValueError(f"no forecaster {name!r}; choose one of {', '.join(forecaster_names())}")


def _check(entry: ForecasterEntry) -> None:
    if entry.name in (own.name for own in _OWN):
        raise ValueError("Foresight has a forecaster of this name itself")
    entry.model_type()
