"""Lives of an agent: random commands, silence, foreign writes and deaths, on a real mounted host.

Whatever happened, once an agent has come back and gone in peace, every file that nobody else wrote
is byte-identical to the original, and every other one holds what was written there last.
`python -m tests.end_to_end.agent.crashes --lives 100 --seed 1` is the long run.
"""

import argparse
import contextlib
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from energy.emulation.description import HostDescription
from energy.emulation.drivers import DRIVERS
from energy.tree import CPUFREQ, FolderTree
from runtime.agent.wire.client import AgentClient, AgentUnreachable
from runtime.agent.wire.refusals import Refused
from tests.runtime.agent.process import AgentProcess
from tests.support.fuse.handle import FuseHost

CPUS = 12
"""Enough for a change to take some time, in which an agent can die."""
ACTIONS = 14
# Apart from each other, so that who wrote a value can be told from it.
OURS_KHZ = (1_300_000, 1_500_000, 1_700_000, 1_900_000)
THEIRS_KHZ = (1_400_000, 1_600_000, 1_800_000, 2_000_000)
BAD_KHZ = (10_000, 1_100_000, 9_000_000)


class Life:
    """One host, one state folder, and whatever agents live there one after the other."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.history: list[str] = []
        self._foreign: dict[str, int] = {}

    def run(self) -> list[str]:
        """The files that are not as they should be, with the history that led there."""
        description = HostDescription(
            driver=self._draw.choice(DRIVERS),
            cpus=CPUS,
            min_khz=1_200_000,
            max_khz=2_000_000,
            lag_reads=self._draw.choice((0, 0, 1)),
        )
        with FuseHost(description) as host, tempfile.TemporaryDirectory() as folder:
            self._host = host
            self._tree = FolderTree(host.root)
            self._original = host.snapshot()
            self._client: AgentClient | None = None
            settings = ("frequency.min_dwell_ms=0",)
            with AgentProcess(
                Path(folder), host.inside_root, settings, wrap=host.command
            ) as self._agent:
                try:
                    for _ in range(ACTIONS):
                        self._act()
                    self._depart()
                    return self._wrong()
                finally:
                    self._forget()

    def _act(self) -> None:
        action = self._draw.choice(_ACTIONS)
        if not self._agent.running and action not in _WITHOUT_AGENT:
            action = Life._start
        name = action.__name__.strip("_")
        self.done[name] += 1
        self.history.append(name)
        action(self)

    # What a controller does.

    def _lease(self) -> None:
        period_ms = self._draw.choice((200, 60_000, 60_000))
        self._ask(lambda client: client.lease(period_ms, take_over=self._draw.random() < 0.7))

    def _renew(self) -> None:
        self._ask(lambda client: client.renew())

    def _set_frequency(self) -> None:
        if (self._client is None or self._client.epoch is None) and self._draw.random() < 0.8:
            self._lease()
        khz = self._draw.choice(OURS_KHZ)
        self._ask(lambda client: client.set_frequency(khz, policies=self._some_policies()))

    def _set_badly(self) -> None:
        khz = self._draw.choice(BAD_KHZ)
        self._ask(lambda client: client.set_frequency(khz, policies=self._some_policies()))
        self._ask(lambda client: client.set_frequency(OURS_KHZ[0], policies=["policy77"]))

    def _release(self) -> None:
        self._ask(lambda client: client.release())

    def _be_silent(self) -> None:
        time.sleep(0.8)  # more than three short periods: such a lease is lost

    # What happens to the agent.

    def _start(self) -> None:
        if not self._agent.running:
            self._agent.start()

    def _kill(self) -> None:
        self._agent.kill()
        self._forget()

    def _kill_in_the_middle(self) -> None:
        """SIGKILL while a command is being carried out, at no particular moment."""
        self._lease()
        delay_s = self._draw.random() * 0.012
        sender = threading.Thread(target=self._set_frequency)
        sender.start()
        time.sleep(delay_s)
        self._agent.kill()
        sender.join()
        self._forget()

    def _kill_while_starting(self) -> None:
        if self._agent.running:
            self._agent.kill()
        self._forget()
        self._agent.launch()
        time.sleep(self._draw.random() * 0.9)
        self._agent.kill()

    def _terminate(self) -> None:
        self._agent.terminate()
        self._forget()

    def _restore_command(self) -> None:
        if self._agent.running:
            self._kill()
        self._agent.restore()

    # What somebody else does.

    def _foreign_write(self) -> None:
        policy = f"policy{self._draw.randrange(CPUS)}"
        khz = self._draw.choice(THEIRS_KHZ)
        self._tree.write(f"{CPUFREQ}/{policy}/scaling_max_freq", str(khz))
        self._foreign[policy] = khz
        # The kernel applies a limit a moment after the write. A command in that very moment takes
        # the policy for its own; nobody could tell, so here it comes a moment later.
        self._host.snapshot()

    def _depart(self) -> None:
        """An agent comes back, if there is none, and goes in peace."""
        self._forget()
        if not self._agent.running:
            if self._draw.random() < 0.3:
                self._agent.restore()
                return
            self._agent.start()
        self._agent.terminate()

    def _wrong(self) -> list[str]:
        now = self._host.snapshot()
        expected = dict(self._original)
        for policy, khz in self._foreign.items():
            expected[f"{CPUFREQ}/{policy}/scaling_max_freq"] = f"{khz}\n"
        return [
            f"{path}: {now.get(path)!r}, must be {text!r}; {' '.join(self.history)}"
            for path, text in expected.items()
            if now.get(path) != text
        ]

    def _some_policies(self) -> list[str] | None:
        if self._draw.random() < 0.5:
            return None
        return self._draw.sample([f"policy{n}" for n in range(CPUS)], self._draw.randint(1, CPUS))

    def _ask(self, question: Callable[[AgentClient], object]) -> None:
        """What is refused, or not answered by an agent that dies, is part of life."""
        if self._client is None:
            self._client = self._agent.local_client()
        try:
            question(self._client)
        except Refused as refused:
            self.done[f"refused {refused.code}"] += 1
            if refused.code in ("internal", "host_fault"):
                raise
        except AgentUnreachable:
            self.done["no answer"] += 1

    def _forget(self) -> None:
        if self._client is not None:
            with contextlib.suppress(AgentUnreachable):
                self._client.close()
            self._client = None


_ACTIONS = (
    *(Life._lease,) * 3,
    Life._renew,
    *(Life._set_frequency,) * 5,
    Life._set_badly,
    Life._release,
    Life._be_silent,
    Life._start,
    Life._kill,
    *(Life._kill_in_the_middle,) * 3,
    Life._kill_while_starting,
    Life._terminate,
    Life._restore_command,
    *(Life._foreign_write,) * 2,
)
_WITHOUT_AGENT = (
    Life._start,
    Life._kill_while_starting,
    Life._restore_command,
    Life._foreign_write,
    Life._be_silent,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lives", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    total: Counter[str] = Counter()
    failed = 0
    for seed in range(arguments.seed, arguments.seed + arguments.lives):
        life = Life(seed)
        wrong = life.run()
        total += life.done
        failed += bool(wrong)
        for line in wrong:
            print(f"WRONG seed {seed}: {line}")
        print(f"life {seed - arguments.seed + 1} of {arguments.lives}", file=sys.stderr)
    print(f"{arguments.lives} lives, {failed} with wrong files")
    print(dict(total.most_common()))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
