"""`compiled` for the decision core and the benchmarks: the one of the layer below."""

from forecasting.compiled import compiled

__all__ = ["compiled"]
