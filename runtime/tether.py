"""Runs a command that ends when the process that started it ends, SIGKILL included.

`python -m runtime.tether PARENT_PID COMMAND...` becomes the command: same process id, same
standard streams. Linux only; elsewhere the command runs untethered.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent_pid, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        # A wish for SIGTERM, not SIGKILL: a Worker takes its executors along. It survives exec.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent_pid:
            sys.exit("the process that started this has ended")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
