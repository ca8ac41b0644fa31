"""Runs in worker processes: order, progress, failures and what becomes of the workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from mpc.simulation.pool import WorkerPool, run_all


def waited(seconds: float) -> float:
    if seconds < 0:
        raise ValueError("cannot wait backwards")
    time.sleep(seconds)
    return seconds


def process_id(_job: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_jobs(processes: int) -> None:
    done: list[int] = []
    jobs = [0.2, 0.0, 0.1]
    assert run_all(waited, jobs, processes, lambda: done.append(1)) == jobs
    assert len(done) == 3
    assert run_all(waited, [], processes) == []


def test_one_job_or_one_process_needs_no_worker() -> None:
    assert run_all(process_id, [1], 4) == [os.getpid()]
    assert os.getpid() not in run_all(process_id, [1, 2], 2)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_failure_reaches_the_caller(processes: int) -> None:
    with pytest.raises(ValueError, match="backwards"):
        run_all(waited, [0.0, -1.0, 0.0], processes)


def test_workers_ignore_the_interrupt_that_their_parent_handles() -> None:
    with WorkerPool(2) as pool:
        workers = [worker for _, worker in pool.run(process_id, [1, 2])]
        os.kill(workers[0], signal.SIGINT)
        assert len(list(pool.run(process_id, [1, 2, 3]))) == 3


def test_workers_end_when_their_parent_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, time\n"
        "from mpc.simulation.pool import WorkerPool\n"
        "from tests.mpc.simulation.test_pool import process_id\n"
        "if __name__ == '__main__':\n"
        "    with WorkerPool(2) as pool:\n"
        "        print(*(pid for _, pid in pool.run(process_id, range(8))), flush=True)\n"
        "        time.sleep(60)\n"
    )
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as parent:
        assert parent.stdout is not None
        workers = {int(word) for word in parent.stdout.readline().split()}
        parent.kill()
        parent.wait()
    assert workers
    deadline_s = time.monotonic() + 20.0
    while any(_runs(worker) for worker in workers) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert not any(_runs(worker) for worker in workers)


def _runs(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
