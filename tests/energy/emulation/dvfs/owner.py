"""An owner of a throttle to be killed: throttles a process and waits.

Arguments: backend, pid. Prints the pid of its guardian once the process is held.
"""

import sys
import time

from energy.emulation.dvfs.choose import choose_throttle
from energy.emulation.dvfs.duty_cycle import DutyCycle
from energy.emulation.dvfs.group_throttle import GroupThrottle
from energy.processes import find_process


def main() -> None:
    backend, pid = sys.argv[1], int(sys.argv[2])
    process = find_process(pid)
    assert process is not None
    throttle = choose_throttle("duty-cycle" if backend == "duty-cycle" else "cgroup-v1")
    assert isinstance(throttle, DutyCycle | GroupThrottle)
    throttle.attach("tree", [process], cores=1)
    throttle.set_share("tree", 0.05)
    print(throttle._guard.pid, flush=True)
    while find_process(pid) == process:
        time.sleep(1.0)


if __name__ == "__main__":
    main()
