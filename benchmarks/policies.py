"""Policies that a comparison is asked for by name: checked before anything runs, and each under the
guards that belong to it."""

from collections.abc import Sequence

from mpc.descent_limits import UNLIMITED, DescentLimits
from mpc.policies.catalogue import find_policy
from mpc.policies.fixed.options import StaticOptions
from mpc.values import ConfigurationSpace
from runtime.config import Config

PRODUCT = "foresight"


def check_policies(
    names: Sequence[str], space: ConfigurationSpace, also: Sequence[str] = ()
) -> None:
    """`ValueError` for a name that is neither in the catalogue nor among `also`."""
    for name in names:
        if name in also:
            continue
        options = find_policy(name).default_options()
        if isinstance(options, StaticOptions) and options.executors > space.max_executors:
            raise ValueError(f"{name}: there are {space.max_executors} executors at most")


def descent_of(name: str, config: Config) -> DescentLimits:
    """How fast a policy may give up capacity in a comparison. The product's own runs under the
    guards it runs under live; what others published must stay what they published."""
    return config.limits.descent if name == PRODUCT else UNLIMITED


def descent_settings(name: str) -> tuple[str, ...]:
    """The same for a run that is started by a configuration: what it must set."""
    if name == PRODUCT:
        return ()
    return (
        f"limits.max_given_up_share={UNLIMITED.largest_share}",
        f"limits.scale_in_window_s={UNLIMITED.window_s}",
        f"limits.slow_down_readings={UNLIMITED.frequency_readings}",
        f"limits.doubtful_ratio={UNLIMITED.doubtful_ratio}",
    )
