"""Every way the agent says no. One code each, with field, value and range where there are any.

`Refused` is the only exception the core raises on purpose; the server turns it into
`{"error": {"code", "message", "field", "value", "allowed"}}` with the status of its code. What went
wrong on the host or with the agent's own files is put into these words here as well.
"""

from typing import Literal

from msgspec import Struct

from energy.errors import (
    FrequencyDenied,
    HostError,
    MeterUnavailable,
    ModeUnsupported,
    PolicyInactive,
    PolicyUnknown,
)
from runtime.agent.core.state import StateError

Code = Literal[
    "bad_request",
    "bad_field",
    "not_found",
    "method_not_allowed",
    "too_large",
    "unsupported_media_type",
    "not_allowed",
    "rate_limited",
    "too_many_connections",
    "lease_held",
    "no_lease",
    "stale_epoch",
    "replayed",
    "too_soon",
    "frequency_denied",
    "policy_unknown",
    "policy_inactive",
    "drifted",
    "unsupported",
    "unavailable",
    "host_fault",
    "stopping",
    "timeout",
    "internal",
]

_CODES: dict[int, tuple[Code, ...]] = {
    400: ("bad_request", "bad_field"),
    403: ("not_allowed",),
    404: ("not_found",),
    405: ("method_not_allowed",),
    408: ("timeout",),
    409: ("lease_held", "no_lease", "stale_epoch", "replayed", "policy_inactive", "drifted"),
    413: ("too_large",),
    415: ("unsupported_media_type",),
    422: ("frequency_denied", "policy_unknown", "unsupported"),
    429: ("rate_limited", "too_soon"),
    500: ("internal",),
    502: ("host_fault",),
    503: ("too_many_connections", "unavailable", "stopping"),
}
HTTP_STATUS = {code: status for status, codes in _CODES.items() for code in codes}

_HOST_CODES: tuple[tuple[type[HostError], Code], ...] = (
    (PolicyUnknown, "policy_unknown"),
    (PolicyInactive, "policy_inactive"),
    (ModeUnsupported, "unsupported"),
    (MeterUnavailable, "unavailable"),
)


class Refusal(Struct, frozen=True):
    """The body of every answer that is not a success."""

    code: Code
    message: str
    field: str | None = None
    value: str | None = None
    allowed: str | None = None


class ErrorBody(Struct, frozen=True):
    """`{"error": {"code": ..., ...}}`."""

    error: Refusal


class Refused(Exception):
    """A command that was not carried out, and why."""

    def __init__(
        self,
        code: Code,
        message: str,
        field: str | None = None,
        value: object = None,
        allowed: str | None = None,
    ) -> None:
        super().__init__(message)
        text = None if value is None else repr(value)[:100]
        self.refusal = Refusal(code, message, field, text, allowed)

    @classmethod
    def from_refusal(cls, refusal: Refusal) -> "Refused":
        """As it came over the wire."""
        refused = cls(refusal.code, refusal.message)
        refused.refusal = refusal
        return refused

    @property
    def code(self) -> Code:
        return self.refusal.code


def refusal_of(error: HostError | StateError) -> Refused:
    if isinstance(error, StateError):
        return Refused("unavailable", str(error))
    if isinstance(error, FrequencyDenied):
        return denied(error, "max_khz")
    for kind, code in _HOST_CODES:
        if isinstance(error, kind):
            return Refused(code, str(error))
    return Refused("host_fault", str(error))


def denied(error: FrequencyDenied, field: str) -> Refused:
    """A frequency out of range, and which of the caller's fields it is."""
    return Refused("frequency_denied", str(error), field, error.value_khz, error.allowed)
