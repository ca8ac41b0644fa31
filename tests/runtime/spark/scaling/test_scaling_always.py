"""What holds for the scaling of executors under any requests, losses, hangs and silences."""

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from runtime.spark.scaling.executors import SchedulerUnavailable
from runtime.spark.scaling.scaler import ExecutorScaler, ScalingState
from tests.runtime.spark.fake_scheduler import FakeScheduler

GRACE_S = 5.0
PATIENCE_S = 30.0


class Scaling(RuleBasedStateMachine):
    @initialize(
        least=st.integers(1, 3), extra=st.integers(0, 5), began=st.integers(0, 8), start=st.data()
    )
    def begin(self, least: int, extra: int, began: int, start: st.DataObject) -> None:
        self.least, self.most = least, least + extra
        self.master = FakeScheduler(
            start_s=start.draw(st.floats(0.5, 10.0)), drain_s=start.draw(st.floats(0.1, 8.0))
        )
        self.master.launch(began)
        self.scaler = ExecutorScaler(
            self.master,
            self.master.clock_s,
            min_executors=self.least,
            max_executors=self.most,
            grace_s=GRACE_S,
            patience_s=PATIENCE_S,
        )
        self.state: ScalingState | None = None
        self.starting_since_s: float | None = None
        self.held_since_s: float | None = None

    @rule(executors=st.integers(-2, 12))
    def request(self, executors: int) -> None:
        self._act(lambda: self.scaler.steer(executors))

    @rule()
    def observe(self) -> None:
        self._act(self.scaler.observe)

    @rule(seconds=st.floats(0.0, 12.0))
    def wait(self, seconds: float) -> None:
        self.master.advance(seconds)

    @rule(which=st.data())
    @precondition(lambda self: self.master.cluster)
    def crash(self, which: st.DataObject) -> None:
        self.master.crash(which.draw(st.sampled_from(sorted(self.master.cluster))))

    @rule(drain_s=st.sampled_from([0.1, 2.0, 1e9]))
    def drain_differently(self, drain_s: float) -> None:
        self.master.drain_s = drain_s

    @rule(is_reachable=st.booleans())
    def reach(self, is_reachable: bool) -> None:
        self.master.is_reachable = is_reachable

    @rule(slots=st.integers(1, 16))
    def resize(self, slots: int) -> None:
        self.master.slots = slots

    def _act(self, call: Callable[[], ScalingState]) -> None:
        staying = set(self.master.ids()) - self.master.draining()
        must_not_undo = self._fresh_starts(len(staying))
        target, orders = self.master.target, len(self.master.orders)
        try:
            self.state = call()
        except SchedulerUnavailable:
            return
        for kind, what in self.master.orders[orders:]:
            if kind == "decommission":
                assert isinstance(what, tuple)
                assert set(what) <= staying
                staying -= set(what)
                assert len(staying) >= self.least
            if kind == "target" and must_not_undo:
                assert isinstance(what, int)
                assert what >= target, "a start in flight was undone"
        now_s, state = self.master.now_s, self.state
        self.starting_since_s = (self.starting_since_s or now_s) if state.pending else None
        is_held = state.wanted is not None and state.wanted < state.requested
        self.held_since_s = (self.held_since_s or now_s) if is_held else None

    def _fresh_starts(self, staying: int) -> bool:
        """Whether executors are on their way that a smaller target would undo too early."""
        state, now_s = self.state, self.master.now_s
        if state is None or state.wanted is None or state.requested <= staying:
            return False
        # All starts in flight are younger than this.
        is_fresh = _is_less_than_patience(self.starting_since_s, now_s)
        has_waited = self.held_since_s is not None and not _is_less_than_patience(
            self.held_since_s, now_s
        )
        return is_fresh and not has_waited

    @invariant()
    def bounds(self) -> None:
        state = getattr(self, "state", None)
        if state is None:
            return
        for kind, what in self.master.orders:
            if kind == "target":
                assert isinstance(what, int)
                assert self.least <= what <= self.most
        if state.wanted is not None:
            assert self.least <= state.wanted <= state.requested <= self.most
        assert state.pending == max(0, state.requested - state.observed)
        assert state.observed + state.leaving <= len(state.executors)
        assert 0.0 <= state.start_up_s <= 120.0

    def teardown(self) -> None:
        """Left alone, it always ends where it was asked to, whatever happened before."""
        if not hasattr(self, "state"):
            return
        self.master.is_reachable, self.master.slots = True, 16
        wanted = self.scaler.steer(self.least + 1).wanted
        for _ in range(40):
            self.master.advance(10.0)
            state = self.scaler.steer(self.least + 1)
        assert (state.observed, state.requested, state.leaving) == (wanted, wanted, 0)
        assert len(self.master.cluster) == wanted


def _is_less_than_patience(since_s: float | None, now_s: float) -> bool:
    return since_s is not None and now_s - since_s < PATIENCE_S


TestScaling = Scaling.TestCase
