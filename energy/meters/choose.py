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
class ChosenMeter:
    meter: Meter | None
    reason: str | None = None
    """Why there is none, or none better."""


def choose_meter(
    name: MeterChoice,
    tree: Tree,
    full_power_w: float = FULL_POWER_W,
    source: PowerSource = "measured",
) -> ChosenMeter:
    """The meter of that name; raises `MeterUnavailable` with every reason.

    `source` is what counters of this tree are: "emulated" for an emulated host. A meter that is
    named is taken even if its counters cannot be read now, as their readings say why; "auto" goes
    on to the next.
    """
    if name == "none":
        return ChosenMeter(None, "switched off, energy.meter = none")
    if name == "modelled":
        return ChosenMeter(_modelled(tree, full_power_w))
    counting: dict[str, type[PowercapMeter | PyraplMeter]] = {
        "powercap": PowercapMeter,
        "pyrapl": PyraplMeter,
    }
    if name in counting:
        return ChosenMeter(counting[name](tree, source))
    reasons: list[str] = []
    for make in counting.values():
        try:
            meter = make(tree, source)
        except MeterUnavailable as error:
            reasons.append(f"{make.name}: {error}")
            continue
        against = meter.reasons_against()
        if not against:
            return ChosenMeter(meter, "; ".join(reasons) or None)
        reasons += [f"{make.name}: {reason}" for reason in against]
    try:
        return ChosenMeter(_modelled(tree, full_power_w), "; ".join(reasons))
    except MeterUnavailable as error:
        reasons.append(f"modelled: {error}")
    raise MeterUnavailable("; ".join(reasons))


def _modelled(tree: Tree, full_power_w: float) -> Meter:
    # The power model needs numpy, which an agent with counters has no use for.
    meter: Meter = import_module("energy.meters.modelled").modelled_meter(tree, full_power_w)
    return meter
