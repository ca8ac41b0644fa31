"""Forecasters by name."""

from collections.abc import Callable
from typing import Any

from forecasting.contract import Forecaster, Model
from forecasting.guarded import GuardedForecaster
from forecasting.holt import Holt
from forecasting.holt_winters import HoltWinters
from forecasting.last import LastValue
from forecasting.mixture import Mixture
from forecasting.recent_mean import RecentMean
from forecasting.ses import SimpleSmoothing

_MODELS: dict[str, Callable[..., Model]] = {
    "last": LastValue,
    "mean-3": RecentMean,
    "ses": SimpleSmoothing,
    "holt": Holt,
    "holt-winters": HoltWinters,
}
FORECASTER_NAMES = (*_MODELS, "mixture")


def make_forecaster(name: str, **parameters: Any) -> Forecaster:
    """The forecaster called `name`; `parameters` are those of its constructor."""
    if name not in FORECASTER_NAMES:
        raise ValueError(f"no forecaster {name!r}; choose one of {', '.join(FORECASTER_NAMES)}")
    if name == "mixture":
        return Mixture(**parameters)
    return GuardedForecaster(_MODELS[name](**parameters))
