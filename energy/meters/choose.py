"""Picks the meter of a host by name, or the best that works, and remembers why others do not."""

from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from energy.errors import MeterUnavailable
from energy.meters.contract import Meter, PowerSource
from energy.meters.powercap import PowercapMeter
from energy.meters.pyrapl import PyraplMeter
from energy.tree import Tree

MeterChoice = Literal["auto", "powercap", "pyrapl", "modelled", "none"]

FULL_POWER_W = 100.0


@dataclass(frozen=True, slots=True)
class Choice:
    """The meter, and what speaks against those that would have been better."""

    meter: Meter | None
    """None: none was wanted."""
    reasons: tuple[str, ...]


def choose_meter(
    name: MeterChoice,
    tree: Tree,
    full_power_w: float = FULL_POWER_W,
    source: PowerSource = "measured",
) -> Meter | None:
    """The meter of that name; raises `MeterUnavailable` with every reason. None for "none"."""
    return weigh_meters(name, tree, full_power_w, source).meter


def weigh_meters(
    name: MeterChoice,
    tree: Tree,
    full_power_w: float = FULL_POWER_W,
    source: PowerSource = "measured",
) -> Choice:
    """`source` is what counters of this tree are: "emulated" for an emulated host.

    A meter that is named is taken even if its counters cannot be read now, as their readings say
    why; "auto" goes on to the next.
    """
    if name == "none":
        return Choice(None, ())
    if name == "powercap":
        return Choice(PowercapMeter(tree, source), ())
    if name == "pyrapl":
        return Choice(PyraplMeter(tree, source), ())
    if name == "modelled":
        return Choice(_modelled(tree, full_power_w), ())
    reasons: list[str] = []
    for make in (PowercapMeter, PyraplMeter):
        try:
            meter = make(tree, source)
        except MeterUnavailable as error:
            reasons.append(f"{make.name}: {error}")
            continue
        against = meter.reasons_against()
        if not against:
            return Choice(meter, tuple(reasons))
        reasons += [f"{make.name}: {reason}" for reason in against]
    try:
        return Choice(_modelled(tree, full_power_w), tuple(reasons))
    except MeterUnavailable as error:
        reasons.append(f"modelled: {error}")
    raise MeterUnavailable("; ".join(reasons))


def _modelled(tree: Tree, full_power_w: float) -> Meter:
    # The power model needs numpy, which an agent with counters has no use for.
    meter: Meter = import_module("energy.meters.modelled").modelled_meter(tree, full_power_w)
    return meter
