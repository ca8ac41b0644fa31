"""Some thousand requests that must all be refused; `fuzz.py` alone sends as many as one likes."""

from runtime.agent.wire.refusals import HTTP_STATUS
from tests.end_to_end.agent.fuzz import fuzz

REQUESTS = 3000
MOST_GROWTH_BYTES = 20_000_000


def test_nothing_bad_is_accepted_and_every_answer_has_a_code() -> None:
    outcome = fuzz(REQUESTS, seed=7)
    assert outcome.wrong == []
    assert outcome.sent == REQUESTS
    # The rest are those that were cut off on purpose.
    assert outcome.answered > REQUESTS * 0.8
    assert set(outcome.codes) <= set(HTTP_STATUS)
    assert {"bad_field", "bad_request", "stale_epoch", "too_large", "not_found"} <= set(
        outcome.codes
    )
    assert outcome.final_bytes - outcome.early_bytes < MOST_GROWTH_BYTES
