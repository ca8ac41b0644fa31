"""One agent as the controller sees it: connect, lease, renew, set the frequency, read, release.

`step` does the work of one period and never raises: an agent that does not answer is unreachable
and tried again ever more rarely, one that refuses is asked again later, and both make one
event each. The host is safe without this side: its lease ends by itself. For one thread, but for
`state`, which any thread may call at any moment.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from mpc.events import Event, EventKind, Events
from runtime.agent.wire.refusals import Code, Refused
from runtime.fleet.backoff import Backoff
from runtime.fleet.port import AgentPort
from runtime.fleet.readings import CpuCounters, PowerGauge
from runtime.fleet.state import HostState
from runtime.fleet.targets import HostFrequencies, HostTarget

SHORTEST_LEASE_PERIOD_S = 2.0
"""A controller on a loaded machine may be late: a lease lives for three of these at least."""
LONGEST_WAIT_S = 30.0
_LEASE_PERIODS = 3
_LOOK_EVERY = 5
"""Periods between two looks at the status, which shows drift and throttling."""
_PERIOD_MS = (200, 60_000)
_LEASE_OVER: frozenset[Code] = frozenset({"no_lease", "stale_epoch", "replayed", "lease_held"})
_SOMEBODY_ELSES: frozenset[Code] = frozenset({"stale_epoch", "lease_held"})


class Session:
    """The conversation with one agent, over as many connections as it takes."""

    def __init__(
        self,
        host: str,
        connect: Callable[[], AgentPort],
        period_s: float,
        clock: Callable[[], float],
        *,
        control: bool = True,
        take_over: bool = False,
    ) -> None:
        """Without `control` it only reads: no lease, no frequency. `take_over` is for a restarted
        controller, whose lease of before may still be alive."""
        lease_period_s = max(period_s, SHORTEST_LEASE_PERIOD_S)
        shortest_ms, longest_ms = _PERIOD_MS
        self._host = host
        self._connect = connect
        self._clock = clock
        self._control = control
        self._take_over = take_over
        self._period_ms = min(max(round(lease_period_s * 1000), shortest_ms), longest_ms)
        self._stale_s = _LEASE_PERIODS * self._period_ms / 1000
        self._gauge = PowerGauge(self._stale_s)
        self._cpu = CpuCounters()
        self._connecting = Backoff(period_s, LONGEST_WAIT_S)
        self._leasing = Backoff(period_s, self._stale_s)
        self._setting = Backoff(period_s, LONGEST_WAIT_S)
        self._client: AgentPort | None = None
        self._range: HostFrequencies | None = None
        self._policies: frozenset[str] = frozenset()
        self._has_lease = False
        self._may_have_lease = take_over
        """Also a lease that was granted without an answer, or before a connection broke."""
        self._confirmed_khz: int | None = None
        self._refused: tuple[Code, int | None] | None = None
        self._drifted: frozenset[str] = frozenset()
        self._lost = False
        self._steps_since_look = 0
        self._events: list[Event] = []
        self._read_at_s: float | None = None
        self._state = HostState(host, reachable=False, problem="not reached yet")

    def state(self, now_s: float) -> HostState:
        """The last known, without what it is too late for."""
        state, read_at_s = self._state, self._read_at_s
        if read_at_s is None:
            return state
        age_s = max(0.0, now_s - read_at_s)
        if age_s <= self._stale_s or not state.reachable:
            return replace(state, age_s=age_s)
        # The lease is over by now, so the host has its own frequency back.
        return replace(
            _without_readings(state), age_s=age_s, problem=f"no answer for {age_s:.0f} s"
        )

    def step(self, target: HostTarget) -> Events:
        """The work of one period; what happened meanwhile."""
        if not self._connecting.is_due(self._clock()):
            return ()
        self._events = []
        try:
            self._talk(target)
        except Exception as error:
            # Whatever comes from an agent, or from the files and names it takes to reach it.
            self._lose(str(error) or type(error).__name__)
        return tuple(self._events)

    def close(self) -> bool:
        """Give the host back; False if that cannot be known and its lease has to end by itself."""
        client, has_lease = self._client, self._has_lease
        self._client, self._has_lease = None, False
        if client is not None:
            if has_lease:
                with suppress(Exception):
                    client.release()
                    self._may_have_lease = False
            with suppress(Exception):
                client.close()
        self._state = replace(
            _without_readings(self._state), reachable=False, problem="the session is over"
        )
        return not self._may_have_lease

    def _talk(self, target: HostTarget) -> None:
        client = self._client
        if client is None:
            client = self._client = self._connect()
            self._greet(client)
        state = replace(self._state, reachable=True, problem=None)
        if self._control:
            state = self._steer(client, target, self._keep_lease(client, state))
        state = self._look(client, self._read(client, state))
        self._connecting.succeed()
        if self._lost:
            self._lost = False
            self._report(EventKind.AGENT_RECOVERED, "answers again")
        # In this order: a reader may come between the two, and an age too high is harmless.
        self._state = replace(state, controlled=self._has_lease)
        self._read_at_s = self._clock()

    def _greet(self, client: AgentPort) -> None:
        hello = client.hello()
        self._range = HostFrequencies.of(hello)
        self._policies = frozenset(policy.name for policy in hello.policies)
        self._state = replace(self._state, greeted=True, frequencies=self._range)

    def _keep_lease(self, client: AgentPort, state: HostState) -> HostState:
        """Renew the lease, or get one."""
        if self._has_lease:
            try:
                client.renew()
            except Refused as refused:
                if refused.code not in _LEASE_OVER:
                    return replace(state, problem=f"lease not renewed: {refused}")
                state = self._lose_lease(state, refused.code)
                # The agent may have been restarted, with another configuration.
                self._greet(client)
        if self._has_lease or not self._leasing.is_due(self._clock()):
            problem = None if self._has_lease else self._state.problem
            return replace(state, problem=problem)
        may_have_lease, self._may_have_lease = self._may_have_lease, True
        try:
            client.lease(self._period_ms, self._take_over)
        except Refused as refused:
            self._may_have_lease = may_have_lease
            self._leasing.fail(self._clock())
            # Whoever has it now came after us: fighting over a host helps nobody.
            self._take_over = self._take_over and refused.code not in _SOMEBODY_ELSES
            return self._refuse(state, refused, None)
        self._has_lease = self._take_over = True
        self._refused = None
        self._leasing.succeed()
        self._setting.succeed()
        return replace(state, effective_khz=None)

    def _lose_lease(self, state: HostState, code: Code) -> HostState:
        self._has_lease = self._may_have_lease = False
        self._take_over = self._take_over and code not in _SOMEBODY_ELSES
        self._confirmed_khz = None
        self._drifted = frozenset()
        # The host has its own frequency back, whatever that is.
        return replace(state, effective_khz=None)

    def _steer(self, client: AgentPort, target: HostTarget, state: HostState) -> HostState:
        """Ask for the target frequency unless the agent has confirmed it."""
        target_khz = None if self._range is None else self._range.target_khz(target)
        if target_khz is None:
            return state
        if target_khz != state.requested_khz:
            self._setting.succeed()
        state = replace(state, requested_khz=target_khz)
        if not self._has_lease or target_khz == self._confirmed_khz:
            return state
        if not self._setting.is_due(self._clock()):
            return replace(state, problem=self._state.problem)
        try:
            answer = client.set_frequency(target_khz)
        except Refused as refused:
            self._setting.fail(self._clock())
            if refused.code in _LEASE_OVER:
                return replace(self._lose_lease(state, refused.code), problem=str(refused))
            if refused.code == "drifted":
                self._drift(self._policies)
                self._steps_since_look = _LOOK_EVERY
                return replace(state, problem=str(refused))
            return self._refuse(state, refused, target_khz)
        self._confirmed_khz, self._refused = target_khz, None
        self._setting.succeed()
        self._drift(answer.left_alone)
        if answer.left_alone:
            self._steps_since_look = _LOOK_EVERY
        effective_khz = _mean_khz(outcome.effective_khz for outcome in answer.outcomes)
        return replace(state, effective_khz=effective_khz)

    def _read(self, client: AgentPort, state: HostState) -> HostState:
        problem = state.problem
        try:
            self._gauge.take(client.energy(), self._clock())
        except Refused as refused:
            self._gauge.forget()
            problem = problem or str(refused)
        executors, clock_khz = None, None
        try:
            report = client.executors()
            executors, clock_khz = self._cpu.take(report), report.clock_khz
        except Refused as refused:
            problem = problem or str(refused)
        return replace(
            state,
            power_w=self._gauge.power_w,
            source=self._gauge.source,
            executors=executors,
            busy_cores=None if executors is None else self._cpu.busy_cores,
            clock_khz=clock_khz,
            problem=problem,
        )

    def _look(self, client: AgentPort, state: HostState) -> HostState:
        """Which frequencies are in force: when that is not known, and now and then."""
        self._steps_since_look += 1
        is_due = state.effective_khz is None or self._steps_since_look >= _LOOK_EVERY
        if self._range is None or not is_due:
            return replace(state, problem=state.problem or self._drift_words())
        try:
            status = client.status()
        except Refused as refused:
            return replace(state, problem=state.problem or str(refused))
        self._steps_since_look = 0
        policies = [policy for policy in status.policies if policy.active]
        self._drift(policy.name for policy in policies if policy.drifted and self._has_lease)
        return replace(
            state,
            effective_khz=_mean_khz(policy.effective_khz for policy in policies),
            problem=state.problem or self._drift_words() or status.last_problem,
        )

    def _drift(self, names: Iterable[str]) -> None:
        found = frozenset(names)
        if found - self._drifted:
            self._report(EventKind.HOST_DRIFTED, _words_of_drift(found))
        self._drifted = found

    def _drift_words(self) -> str | None:
        return _words_of_drift(self._drifted) if self._drifted else None

    def _refuse(self, state: HostState, refused: Refused, khz: int | None) -> HostState:
        """Reported once for each reason and frequency."""
        if self._refused != (refused.code, khz):
            self._refused = (refused.code, khz)
            self._report(EventKind.FREQUENCY_REFUSED, f"{refused.code}: {refused}")
        return replace(state, problem=str(refused))

    def _lose(self, reason: str) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.close()
        self._has_lease = False
        self._confirmed_khz = None
        self._gauge.forget()
        self._connecting.fail(self._clock())
        self._state = replace(_without_readings(self._state), reachable=False, problem=reason)
        if not self._lost:
            self._lost = True
            self._report(EventKind.AGENT_LOST, reason)

    def _report(self, kind: EventKind, detail: str) -> None:
        self._events.append(Event(kind, f"{self._host}: {detail}"))


def _without_readings(state: HostState) -> HostState:
    return replace(
        state,
        controlled=False,
        effective_khz=None,
        power_w=None,
        source=None,
        executors=None,
        busy_cores=None,
        clock_khz=None,
    )


def _mean_khz(effective_khz: Iterable[int | None]) -> int | None:
    values = list(effective_khz)
    known = [khz for khz in values if khz is not None]
    return round(sum(known) / len(known)) if known and len(known) == len(values) else None


def _words_of_drift(policies: Iterable[str]) -> str:
    return f"somebody else changed {', '.join(sorted(policies))}; left alone until the lease ends"
