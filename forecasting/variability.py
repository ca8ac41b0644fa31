"""How irregular arrivals are.

The coefficient of variation of the gaps treats them as independent. Real ticks come in clusters,
and only counts over longer windows show that: the index of dispersion then grows with the window
where a renewal process stays flat.
"""

from forecasting.contract import FloatArray


def dispersion_index(counts: FloatArray) -> float | None:
    """Variance over mean of counts in equal windows (the index of dispersion for counts).

    1 for a Poisson stream of any rate, more when arrivals cluster; None with fewer than two
    windows or no arrival.
    """
    mean = float(counts.mean()) if len(counts) >= 2 else 0.0
    return float(counts.var()) / mean if mean > 0.0 else None
