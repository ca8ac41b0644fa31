"""Makes a forecaster by its name."""

from typing import Any

from forecasting.catalogue import find_forecaster
from forecasting.contract import Forecaster
from forecasting.guarded import GuardedForecaster


def make_forecaster(name: str, **parameters: Any) -> Forecaster:
    """The forecaster called `name`; `parameters` are those of its constructor."""
    entry = find_forecaster(name)
    made = entry.model_type()(**parameters)
    forecaster: Forecaster = made if entry.guarded else GuardedForecaster(made)
    return forecaster
