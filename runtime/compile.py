"""`python -m runtime.compile`: compile every kernel of the controller into the cache on disk.

Part of the installation, so that the first start of an application finds the optimiser ready.
"""

from mpc.policies.catalogue import policy_entries
from mpc.policies.context import Context
from mpc.values import ConfigurationSpace
from runtime.build import build_policy
from runtime.config import load_config

SPACE = ConfigurationSpace(1, 2, (1_000_000, 2_000_000))


def compile_kernels() -> list[str]:
    """Names of the policies whose kernels are ready: each compiles its own as it is built."""
    config = load_config(None, [])
    ready = []
    for entry in policy_entries():
        # A name with a number in it, "static-N", stands for policies without kernels.
        if not entry.live or entry.name.endswith("-N"):
            continue
        context = Context(
            space=SPACE, target_latency_s=1.0, step_s=1.0, latency_model="micro-batch"
        )
        build_policy(config, entry.name, context)
        ready.append(entry.name)
    return ready


if __name__ == "__main__":
    compile_kernels()
