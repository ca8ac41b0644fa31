"""When executors came, by what was noted once a step."""

import pytest

from mpc.values import Configuration
from runtime.spark.sensing.cluster_log import ConfigurationLog


@pytest.mark.parametrize(
    ("started_s", "finished_s", "grew"),
    [
        (0.0, 4.0, False),  # over before anybody came
        (4.0, 5.5, True),  # one came between the notes at 5 and 6
        (5.2, 9.0, True),
        (6.0, 9.0, False),  # it was there by then
        (9.0, 12.0, False),  # one that leaves makes nothing cold
    ],
)
def test_executors_that_may_have_come(started_s: float, finished_s: float, grew: bool) -> None:
    log = ConfigurationLog()
    for second, executors in enumerate([2] * 6 + [3] * 4 + [2] * 4):
        log.note(float(second), Configuration(executors, 1_000_000))
    assert log.grew(started_s, finished_s) == grew
