"""Names of policies that a comparison is asked for, checked before anything runs."""

from collections.abc import Sequence

from mpc.policies.catalogue import find_policy
from mpc.policies.fixed.options import StaticOptions
from mpc.values import ConfigurationSpace


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
