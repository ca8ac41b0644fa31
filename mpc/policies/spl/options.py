"""`[policies.spl]`. Defaults are those of De Matteis and Mencagli 2016, section 5.5."""

from mpc.options import Options, PositiveShare, Share, option


class SplOptions(Options):
    """Expand while congested and while it helps, contract while it does not hurt."""

    congestion_threshold: Share = option(
        0.1, "Share of a step with a blocked source above which the operator counts as congested."
    )
    sensitivity: PositiveShare = option(
        0.9, "Throughput counts as changed when it falls below this share of the remembered one."
    )
