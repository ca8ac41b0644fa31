"""`[policies.spl]`. Defaults are those of De Matteis and Mencagli 2016, section 5.5."""

from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import PositiveShare, Share


class SplOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Expand while congested and while it helps, contract while it does not hurt."""

    congestion_threshold: Annotated[
        Share,
        Meta(
            description="Share of a step with a blocked source above which the operator counts as "
            "congested."
        ),
    ] = 0.1
    sensitivity: Annotated[
        PositiveShare,
        Meta(
            description="Throughput counts as changed when it falls below this share of the "
            "remembered one."
        ),
    ] = 0.9
