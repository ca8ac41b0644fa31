"""A class-data archive with which executors start faster, made once per installation.

It is what the JVM writes down about the classes of a first, throw-away executor
(`-XX:ArchiveClassesAtExit`) and maps into later ones (`-XX:SharedArchiveFile`). An archive that
does not fit is ignored by the JVM, so that an executor on another host starts as it always did.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark
from pyspark.sql import SparkSession

from runtime.spark.driver import Driver
from runtime.spark.launching.local_cluster import (
    LEAN_JAVA_OPTIONS,
    LocalCluster,
    WorkerHost,
    java_command,
    spark_home_folder,
    why_unavailable,
)
from runtime.spark.scaling.scheduler import Scheduler

MAKE_TIMEOUT_S = 300.0
_DUMP_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class ClassDataArchive:
    """Options for `spark.executor.extraJavaOptions`, or why there are none."""

    java_options: str | None
    reason: str | None = None


def find_archive(cache: Path | None = None) -> ClassDataArchive:
    """The archive of this installation if it was made; starts nothing."""
    path = _archive_path(cache)
    if isinstance(path, str):
        return ClassDataArchive(None, path)
    if not path.is_file():
        return ClassDataArchive(None, f"no class-data archive at {path} yet")
    return _using(path)


def make_archive(cache: Path | None = None) -> ClassDataArchive:
    """The archive of this installation; takes about half a minute when there is none yet."""
    path = _archive_path(cache)
    if isinstance(path, str):
        return ClassDataArchive(None, path)
    if path.is_file():
        return _using(path)
    draft = path.with_name(f"{path.stem}-{os.getpid()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "runtime.spark.launching.archive", str(draft)],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=MAKE_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0 or not draft.is_file():
            lines = done.stderr.strip().splitlines()
            return ClassDataArchive(
                None, f"no class-data archive could be made: {lines[-1] if lines else 'no output'}"
            )
        # Others may make it at the same time; each file is whole and any of them will do.
        draft.replace(path)
    except (OSError, subprocess.TimeoutExpired) as error:
        return ClassDataArchive(None, f"no class-data archive could be made: {error}")
    finally:
        draft.unlink(missing_ok=True)
    return _using(path)


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "foresight"


def archive_name(java_version: str, java: Path, spark_home: Path) -> str:
    """Another Java, another pyspark or another place of either is another archive: the JVM
    compares paths and versions and ignores one that differs."""
    parts = "\n".join((java_version, str(java), str(spark_home), pyspark.__version__))
    return f"executor-{pyspark.__version__}-{hashlib.sha256(parts.encode()).hexdigest()[:12]}.jsa"


def _archive_path(cache: Path | None) -> Path | str:
    """The path, or why there can be no archive."""
    missing = why_unavailable()
    java = java_command()
    if missing is not None or java is None:
        return missing or "no Java"
    home = spark_home_folder()
    conf = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")
    if conf.is_dir() and any(conf.iterdir()):
        return f"{conf} has files and is in the class path, which class-data archives do not take"
    try:
        version = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"{java} -version failed: {error}"
    return (cache or cache_folder()) / archive_name(version, java.resolve(), home)


def _using(path: Path) -> ClassDataArchive:
    return ClassDataArchive(f"-XX:SharedArchiveFile={path} -Xshare:auto")


def _dump(draft: Path, folder: Path) -> None:
    """Run a throw-away application: its only executor writes the archive when it ends."""
    with LocalCluster([WorkerHost("127.0.0.1", cores=1, memory_mb=512)], folder) as cluster:
        spark = (
            SparkSession.builder.master(cluster.master_url)
            .appName("foresight-class-data")
            .config("spark.ui.enabled", "false")
            .config("spark.executor.cores", "1")
            .config("spark.executor.memory", "512m")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", LEAN_JAVA_OPTIONS)
            .config("spark.executor.extraJavaOptions", f"-XX:ArchiveClassesAtExit={draft}")
            .getOrCreate()
        )
        try:
            rows = spark.range(1000, numPartitions=2).selectExpr("id", "id % 7 AS key")
            rows.groupBy("key").count().collect()
            rows.mapInArrow(lambda batches: batches, rows.schema).repartition(2).collect()
            Scheduler(Driver.of(spark)).set_target(0)
            # By hand: Spark would kill it while it writes, which takes up to ten seconds.
            for executor in map(psutil.Process, cluster.executor_pids().values()):
                executor.terminate()
                executor.wait(_DUMP_TIMEOUT_S)
        finally:
            spark.stop()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="foresight-", ignore_cleanup_errors=True) as folder:
        _dump(Path(sys.argv[1]), Path(folder))


if __name__ == "__main__":
    main()
