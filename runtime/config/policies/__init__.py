"""The tables `[policies.NAME]`, one a policy that has options of its own.

Options only: reading a configuration must not import what decides. `runtime.policies` builds the
policies from them.
"""

import msgspec
from msgspec import Struct, field

from runtime.config.policies.decentralised import Decentralised
from runtime.config.policies.edf import EdfModelBased, EdfQLearning, EdfThreshold
from runtime.config.policies.mdp import Mdp, MdpRl
from runtime.config.policies.peers import Ds2, Hpa, SparkDra, SparkRatio
from runtime.config.policies.thesis import ParameterSearch, QLearning, ValueIteration


class Policies(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of single policies; only the table of the one that decides is read."""

    q_learning: QLearning = field(name="q-learning", default=QLearning())
    value_iteration: ValueIteration = field(name="value-iteration", default=ValueIteration())
    parameter_search: ParameterSearch = field(name="parameter-search", default=ParameterSearch())
    edf_threshold: EdfThreshold = field(name="edf-threshold", default=EdfThreshold())
    edf_q_learning: EdfQLearning = field(name="edf-q-learning", default=EdfQLearning())
    edf_model_based: EdfModelBased = field(name="edf-model-based", default=EdfModelBased())
    mdp: Mdp = Mdp()
    mdp_rl: MdpRl = field(name="mdp-rl", default=MdpRl())
    decentralised: Decentralised = Decentralised()
    ds2: Ds2 = Ds2()
    hpa: Hpa = Hpa()
    spark_dra: SparkDra = field(name="spark-dra", default=SparkDra())
    spark_ratio: SparkRatio = field(name="spark-ratio", default=SparkRatio())


TABLED_POLICIES = tuple(table.encode_name for table in msgspec.structs.fields(Policies))
""""q-learning", "ds2" and so on: the policies that have a table."""
POLICY_PATTERN = (
    r"^(foresight|peak|static-[1-9][0-9]*|rule-based|spl|lat-(node|power)-(nosw|h1|h2|h3)|"
    rf"{'|'.join(TABLED_POLICIES)})$"
)
POLICY_NAMES = (
    f"foresight, peak, static-N, rule-based, {', '.join(TABLED_POLICIES)}, spl, "
    "lat-node-nosw, lat-node-h1, lat-node-h2, lat-node-h3, "
    "lat-power-nosw, lat-power-h1, lat-power-h2, lat-power-h3"
)
