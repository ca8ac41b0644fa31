"""What went wrong on the host or with the agent's own files, in the words a caller gets."""

from energy.errors import (
    FrequencyDenied,
    HostError,
    MeterUnavailable,
    ModeUnsupported,
    PolicyInactive,
    PolicyUnknown,
)
from runtime.agent.core.state import StateError
from runtime.agent.wire.refusals import Code, Refused

_CODES: tuple[tuple[type[HostError], Code], ...] = (
    (PolicyUnknown, "policy_unknown"),
    (PolicyInactive, "policy_inactive"),
    (ModeUnsupported, "unsupported"),
    (MeterUnavailable, "unavailable"),
)


def refusal_of(error: HostError | StateError) -> Refused:
    if isinstance(error, StateError):
        return Refused("unavailable", str(error))
    if isinstance(error, FrequencyDenied):
        return denied(error, "max_khz")
    for kind, code in _CODES:
        if isinstance(error, kind):
            return Refused(code, str(error))
    return Refused("host_fault", str(error))


def denied(error: FrequencyDenied, field: str) -> Refused:
    """A frequency out of range, and which of the caller's fields it is."""
    return Refused(
        "frequency_denied",
        str(error),
        field=field,
        value=error.value_khz,
        allowed=error.allowed,
    )
