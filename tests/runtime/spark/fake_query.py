"""A streaming query that a test drives by hand, and the progress that real ones have reported."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtime.spark.sensing.queries import QueryStatus
from runtime.spark.sensing.sources.contract import SourceInfo

RECORDED = Path(__file__).parent / "progress"

IDLE = QueryStatus(in_trigger=False, saw_data=False)
BETWEEN_TRIGGERS = QueryStatus(in_trigger=False, saw_data=True)
RUNNING = QueryStatus(in_trigger=True, saw_data=True)


def recorded(name: str) -> list[dict[str, Any]]:
    """What Spark 4.3 reported, trigger by trigger."""
    documents: list[dict[str, Any]] = json.loads((RECORDED / f"{name}.json").read_text())
    return documents


def document(
    batch_id: int,
    started_s: float,
    duration_s: float,
    rows: int,
    *,
    end: object = None,
    latest: object = None,
    start: object = None,
    run_id: str = "run-1",
    ran: bool = True,
    event_times: tuple[int, float, float] | None = None,
    epoch_s_by_level: list[float] | None = None,
) -> dict[str, Any]:
    """One trigger, with one source; `event_times` are rows, mean and first in epoch seconds."""
    durations = {"triggerExecution": round(duration_s * 1000), "latestOffset": 1}
    if ran:
        durations["addBatch"] = round(duration_s * 900)
    made: dict[str, Any] = {
        "runId": run_id,
        "name": None,
        "timestamp": datetime.fromtimestamp(started_s, UTC).isoformat(timespec="milliseconds"),
        "batchId": batch_id,
        "numInputRows": rows,
        "durationMs": durations,
        "sources": [
            {"startOffset": start, "endOffset": end, "latestOffset": latest, "numInputRows": rows}
        ],
    }
    if event_times is not None:
        seen, mean_s, first_s = event_times
        made["observedMetrics"] = {
            "foresight_latency": {"rows": seen, "mean_epoch_s": mean_s, "first_epoch_s": first_s}
        }
        if epoch_s_by_level is not None:
            made["observedMetrics"]["foresight_latency"]["epoch_s_by_level"] = epoch_s_by_level
    return made


class FakeQuery:
    """Implements `QueryPort`; keeps as many triggers as Spark does, or fewer."""

    def __init__(
        self,
        run_id: str = "run-1",
        name: str | None = None,
        keeps: int = 100,
        trigger_interval_s: float | None = None,
    ) -> None:
        self._trigger_interval_s = trigger_interval_s
        self.made_of: tuple[SourceInfo, ...] = ()
        self.reached: object = None
        """Where the batch that runs ends."""
        self.run_id = run_id
        self.name = name
        self.state = BETWEEN_TRIGGERS
        self.error: Exception | None = None
        self.failed: str | None = None
        self.mode: str | None = None
        """Why it cannot be scaled."""
        self.asked_for: list[int] = []
        """How many recent triggers were asked for, call by call."""
        self._keeps = keeps
        self._reported: list[dict[str, Any]] = []

    def report(self, *documents: dict[str, Any]) -> None:
        self._reported = [*self._reported, *documents][-self._keeps :]

    def trigger_interval_s(self) -> float | None:
        if self.error is not None:
            raise self.error
        return self._trigger_interval_s

    def unsupported(self) -> str | None:
        return self.mode

    def status(self) -> QueryStatus:
        if self.error is not None:
            raise self.error
        return self.state

    def last_progress(self) -> str | None:
        if self.error is not None:
            raise self.error
        return json.dumps(self._reported[-1]) if self._reported else None

    def recent_progress(self, most: int) -> tuple[str, ...]:
        self.asked_for.append(most)
        return tuple(json.dumps(made) for made in self._reported[-most:])

    def sources(self) -> tuple[SourceInfo, ...]:
        if self.error is not None:
            raise self.error
        return self.made_of

    def source_offset(self, place: int) -> str | None:
        return None if self.reached is None else json.dumps(self.reached)

    def failure(self) -> str | None:
        if self.error is not None:
            raise self.error
        return self.failed
