"""Every policy by its name, one line each; those of other distributions are found through the entry
points `foresight.policies`.

Names and places only: options and code are imported when they are asked for, so that reading a
configuration imports nothing that decides.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct, inspect, structs

from forecasting.third_party import Discovery, discover

if TYPE_CHECKING:
    from mpc.policies.context import Context
    from mpc.ports import Policy

GROUP = "foresight.policies"
_NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """One policy: where its options and its builder are, and what it can do."""

    name: str
    """As in `policy = "NAME"` and `[policies.NAME]`. In a name that ends with -N, N is a number."""
    options: str
    """Where the struct of its options is, "package.module:Class"."""
    builder: str
    """Where the function or class is that makes the policy of its options and a `Context`."""
    live: bool = True
    """Whether it can do with what Spark measures."""
    preset: tuple[tuple[str, object], ...] = ()
    """Options that the name stands for; such a policy has no table."""
    number: str | None = None
    """The option that takes the number of the name."""
    sections: bool = False
    """Its options are sections of the configuration instead of one table."""
    breaks: tuple[str, ...] = ()
    """Checks of `mpc.policies.contract` that its source rules out; its docstring says why."""

    @property
    def has_table(self) -> bool:
        """Whether it has a table `[policies.NAME]`."""
        named = self.preset or self.number or self.sections
        return not named and bool(self.options_type().__struct_fields__)

    @property
    def attribute(self) -> str:
        """The name as Python can spell it."""
        return self.name.replace("-", "_")

    @property
    def pattern(self) -> str:
        if self.number is None:
            return re.escape(self.name)
        return f"{re.escape(self.name.removesuffix('N'))}[1-9][0-9]*"

    def options_type(self) -> type[Struct]:
        found: type[Struct] = _at(self.options)
        return found

    def default_options(self) -> Struct:
        return self.options_type()(**dict(self.preset))

    def build(self, options: Struct, context: "Context") -> "Policy":
        builder: Callable[[Struct, Context], Policy] = _at(self.builder)
        return builder(options, context)


_OVERLOAD, _SILENCE = "scales out of an overload", "scales out while no batch ends"
_BATCH_RATE = "scales out on rates that only batches tell"
_LOSS = "makes up for lost executors"
_CALM, _NOTHING = "stays calm in a calm stream", "holds while nothing is measured"
_SILENT = (_SILENCE, _BATCH_RATE)
_FIXED = {"breaks": (_NOTHING, _CALM, _OVERLOAD, *_SILENT, _LOSS)}


def _own(name: str, folder: str, options: str, builder: str, **traits: Any) -> PolicyEntry:
    place = f"mpc.policies.{folder}"
    return PolicyEntry(name, f"{place}.options:{options}", f"{place}.{builder}", **traits)


def _lat(resource: str, plan: str, **preset: object) -> PolicyEntry:
    chosen = {"resource": "executors" if resource == "node" else resource, **preset}
    # lat-power keeps its configuration when none is stable.
    breaks = (*_SILENT, _OVERLOAD, _LOSS) if resource == "power" else _SILENT
    traits: dict[str, Any] = {"live": False, "preset": tuple(chosen.items()), "breaks": breaks}
    return _own(f"lat-{resource}-{plan}", "lat", "LatOptions", "policy:LatPolicy", **traits)


_OWN = (
    _own("foresight", "foresight", "ForesightOptions", "policy:ForesightPolicy", sections=True),
    _own("peak", "fixed", "PeakOptions", "policy:peak_policy", **_FIXED),
    _own(
        "static-N", "fixed", "StaticOptions", "policy:static_policy", number="executors", **_FIXED
    ),
    _own("rule-based", "rule_based", "RuleBasedOptions", "policy:RuleBasedPolicy"),
    _own("q-learning", "q_learning", "QLearningOptions", "policy:QLearningPolicy"),
    _own(
        "value-iteration",
        "q_learning",
        "ValueIterationOptions",
        "value_iteration:ValueIterationPolicy",
    ),
    _own(
        "parameter-search",
        "parameter_search",
        "ParameterSearchOptions",
        "policy:ParameterSearchPolicy",
    ),
    _own(
        "edf-threshold",
        "edf",
        "EdfThresholdOptions",
        "single_operator:threshold_policy",
        breaks=_SILENT,
    ),
    _own(
        "edf-q-learning",
        "edf",
        "EdfQLearningOptions",
        "single_operator:q_learning_policy",
        breaks=(_LOSS,),
    ),
    _own("edf-model-based", "edf", "EdfModelBasedOptions", "single_operator:model_based_policy"),
    _own("mdp", "mdp", "MdpOptions", "policy:MdpPolicy", breaks=(_LOSS,)),
    _own("mdp-rl", "mdp", "MdpRlOptions", "rl_policy:MdpRlPolicy", breaks=(_LOSS,)),
    _own(
        "decentralised",
        "decentralised",
        "DecentralisedOptions",
        "policy:DecentralisedPolicy",
        breaks=(*_SILENT, _LOSS),
    ),
    _own("ds2", "ds2", "Ds2Options", "policy:Ds2Policy", breaks=_SILENT),
    _own("hpa", "hpa", "HpaOptions", "policy:HpaPolicy", breaks=(*_SILENT, _LOSS)),
    _own("spark-dra", "spark_dra", "SparkDraOptions", "policy:SparkDraPolicy", breaks=(_CALM,)),
    _own(
        "spark-ratio", "spark_ratio", "SparkRatioOptions", "policy:SparkRatioPolicy", breaks=_SILENT
    ),
    _own("spl", "spl", "SplOptions", "policy:SplPolicy", live=False, breaks=(_BATCH_RATE,)),
    _lat("node", "nosw", switching_weight=0.0),
    _lat("node", "h1", horizon_steps=1),
    _lat("node", "h2", horizon_steps=2),
    _lat("node", "h3", horizon_steps=3),
    _lat("power", "nosw", switching_weight=0.0),
    _lat("power", "h1", horizon_steps=1),
    _lat("power", "h2", horizon_steps=2),
    _lat("power", "h3", horizon_steps=3),
)


@cache
def third_party_policies() -> Discovery[PolicyEntry]:
    return discover(GROUP, PolicyEntry, check_third_party)


def policy_entries() -> tuple[PolicyEntry, ...]:
    return (*_OWN, *third_party_policies().usable)


def policy_names() -> tuple[str, ...]:
    return tuple(entry.name for entry in policy_entries())


def policy_pattern() -> str:
    """Of every name, the broken ones too: what is wrong with them is told when they are chosen."""
    broken = (re.escape(each.name) for each in third_party_policies().broken)
    return f"^({'|'.join((*(entry.pattern for entry in policy_entries()), *broken))})$"


def find_policy(name: str) -> PolicyEntry:
    """The entry of a policy, with the number of its name; `ValueError` where there is none."""
    for entry in policy_entries():
        if entry.number is None and entry.name == name:
            return entry
        if entry.number is not None and re.fullmatch(entry.pattern, name):
            number = int(name.removeprefix(entry.name.removesuffix("N")))
            return replace(entry, name=name, number=None, preset=((entry.number, number),))
    for broken in third_party_policies().broken:
        if broken.name == name:
            raise ValueError(f"policy {name!r} cannot be loaded: {broken.reason}")
    raise ValueError(f"unknown policy {name!r}; known: {', '.join(policy_names())}")


def _at(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def check_third_party(entry: PolicyEntry) -> None:
    """Of a third party's entry, everything that reading a configuration relies on."""
    if not _NAME.fullmatch(entry.name) or entry.sections:
        raise ValueError("a name is of lower-case letters, digits and hyphens, with one table")
    if any(re.fullmatch(own.pattern, entry.name) for own in _OWN):
        raise ValueError("Foresight has a policy of this name itself")
    options = entry.options_type()
    if not issubclass(options, Struct):
        raise TypeError(f"{entry.options} is no msgspec.Struct")
    options(**dict(entry.preset))
    for option in structs.fields(options):
        info = inspect.type_info(option.type)
        parts = info.types if isinstance(info, inspect.UnionType) else (info,)
        texts = [
            (part.extra_json_schema or {}) for part in parts if isinstance(part, inspect.Metadata)
        ]
        if not any("description" in text for text in texts):
            raise TypeError(f"option {option.name} has no description")
