"""The controller of a start, which may take a while: kernels are compiled, journals replayed.

On a machine that has never run it the optimiser takes up to a minute to compile. Nobody waits for
that: the loop measures and holds, and takes the controller over when it is there.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from mpc.controller import Controller
from mpc.events import Events
from runtime.control.journal import Resumption


@dataclass(frozen=True, slots=True)
class Prepared:
    """A controller, and what the record of its first step says about the start."""

    controller: Controller
    events: Events = ()
    resumption: Resumption | None = None


class Preparation:
    """Asked once a step until it has the controller."""

    def __init__(self, prepare: Callable[[], Prepared], *, in_background: bool) -> None:
        """In the foreground whatever `prepare` raises is raised here, otherwise by `take`."""
        self._prepare = prepare
        self._result: Prepared | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()
        if in_background:
            threading.Thread(target=self._run, name="foresight-prepare", daemon=True).start()
        else:
            self._result = prepare()
            self._done.set()

    def take(self) -> Prepared | None:
        """The controller, once it is there; raises what kept it from being made."""
        if not self._done.is_set():
            return None
        if self._error is not None:
            raise self._error
        return self._result

    def wait(self, timeout_s: float) -> bool:
        return self._done.wait(timeout_s)

    def _run(self) -> None:
        try:
            self._result = self._prepare()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()
