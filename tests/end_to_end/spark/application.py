"""A streaming application under control, as a process of its own for tests to kill or cut off.

`python -m tests.end_to_end.spark.application MASTER_URL HOST FOLDER EXECUTORS KHZ [KEY=VALUE ...]`
takes its configuration from a folder, asks for one number of executors and one frequency at every
step, and runs until its standard input ends. Then it prints how many rows came, how many different
ones, and how many they should be.
"""

import json
import sys
from pathlib import Path

from mpc.policies.fixed.policy import FixedPolicy
from mpc.values import Configuration
from runtime.spark.attach import attach
from tests.end_to_end.spark.session import small_session

NAME = "application"
CONFIG = "foresight.toml"
_VIEW = "received"


def main() -> None:
    master_url, host, folder, executors, khz, *options = sys.argv[1:]
    spark = small_session(
        NAME,
        master_url,
        host,
        int(executors),
        Path(folder),
        dict(option.split("=", 1) for option in options),
    )
    policy = FixedPolicy(Configuration(int(executors), int(khz)))
    rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load().repartition(3)
    with attach(spark, Path(folder) / CONFIG, make_policy=lambda space, dead_time_s: policy):
        query = rows.writeStream.format("memory").queryName(_VIEW).start()
        sys.stdin.read()
        query.stop()
    (found,) = spark.sql(
        "SELECT count(*) AS rows, count(DISTINCT value) AS different, max(value) + 1 AS expected "
        f"FROM {_VIEW}"
    ).collect()
    print(json.dumps(found.asDict()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
