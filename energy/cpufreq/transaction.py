"""Several writes that count as one: after an error, what was written is put back in reverse."""

from dataclasses import dataclass

from energy.cpufreq.attributes import read_text, write_text
from energy.cpufreq.policy import Attribute
from energy.errors import HostError
from energy.tree import Tree


@dataclass(frozen=True, slots=True)
class WriteStep:
    """One write, and how to undo it."""

    policy: str
    attribute: Attribute
    text: str
    before: str
    """What was read before."""
    undo: str | None
    """What to write to have that again: not always the same, since a throttle must not become a
    limit. None: the undoing of an earlier step takes this along."""


class Transaction:
    """The steps taken so far."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._steps: list[WriteStep] = []
        self._last_failed = False

    def write(self, step: WriteStep) -> None:
        self._steps.append(step)
        self._last_failed = True
        write_text(self._tree, step.policy, step.attribute, step.text)
        self._last_failed = False

    def put_back(self, error: HostError) -> None:
        """Undo every step, the last first; what cannot be undone becomes a note of the error."""
        for number, step in reversed(list(enumerate(self._steps, start=1))):
            # A write that failed has changed nothing, unless the file says otherwise.
            doubtful = self._last_failed and number == len(self._steps)
            try:
                if doubtful and self._reads(step) == step.before:
                    continue
                if step.undo is not None:
                    write_text(self._tree, step.policy, step.attribute, step.undo)
            except HostError as second:
                error.add_note(f"{step.policy}: {step.attribute} could not be put back: {second}")

    def _reads(self, step: WriteStep) -> str:
        return read_text(self._tree, step.policy, step.attribute)
