"""A /proc in a folder: processes that start, work, exec, end and leave their pid to others."""

from pathlib import Path
from shutil import rmtree

CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def executor_arguments(
    application: str = "app-1", executor_id: str = "0", main_class: str = CLASS, **others: str
) -> list[str]:
    """The command line as Spark writes it."""
    options = {
        "driver-url": "spark://CoarseGrainedScheduler@driver:35001",
        "executor-id": executor_id,
        "hostname": "10.0.0.5",
        "cores": "4",
        "app-id": application,
        "worker-url": "spark://Worker@10.0.0.5:36001",
    } | {name.replace("_", "-"): value for name, value in others.items()}
    flat = [part for name, value in options.items() for part in (f"--{name}", value)]
    return ["/usr/bin/java", "-cp", "/opt/spark/jars/*", "-Xmx1g", main_class, *flat]


class FakeProc:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._now_ticks = 100
        for name in ("self", "meminfo", "sys"):
            (root / name).mkdir()

    def start(self, pid: int, arguments: list[str], parent_pid: int = 1) -> None:
        self._now_ticks += 1
        (self.root / str(pid)).mkdir()
        self.exec(pid, arguments)
        self.work(pid, 0, 0, parent_pid, self._now_ticks)

    def exec(self, pid: int, arguments: list[str]) -> None:
        text = "".join(f"{argument}\0" for argument in arguments)
        (self.root / str(pid) / "cmdline").write_bytes(text.encode())

    def work(
        self,
        pid: int,
        own_ticks: int,
        reaped_ticks: int = 0,
        parent_pid: int | None = None,
        started_ticks: int | None = None,
        state: str = "S",
    ) -> None:
        path = self.root / str(pid) / "stat"
        if parent_pid is None or started_ticks is None:
            fields = path.read_text().rpartition(")")[2].split()
            parent_pid, started_ticks = int(fields[1]), int(fields[19])
        halves = f"{own_ticks - own_ticks // 2} {own_ticks // 2}"
        reaped = f"{reaped_ticks - reaped_ticks // 2} {reaped_ticks // 2}"
        path.write_text(
            f"{pid} (a ) b) {state} {parent_pid} 1 1 0 -1 4194304 9 9 9 9 {halves} {reaped} "
            f"20 0 31 0 {started_ticks} 1000000 100 18446744073709551615 0 0 0\n"
        )

    def end(self, pid: int) -> None:
        rmtree(self.root / str(pid))
