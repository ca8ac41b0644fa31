"""The one exclusive lease: who controls the host, since which epoch, until when.

Epochs fence: each grant has a higher one than every grant before, also those of earlier starts.
Sequence numbers rise within an epoch, so that a recorded command cannot be played again. Nothing
here reads a clock or touches the host; `Refused` says why a command is not let through.
"""

from dataclasses import dataclass, replace

from runtime.agent.wire.refusals import Refused

PERIODS_TO_LIVE = 3


@dataclass(frozen=True, slots=True)
class Lease:
    """A grant, as it stands after the last accepted command."""

    holder: str
    epoch: int
    ttl_s: float
    expires_s: float
    sequence: int = 0
    """The highest sequence number seen; the next must be higher."""

    def remaining_ms(self, now_s: float) -> int:
        return max(0, round((self.expires_s - now_s) * 1000))


class LeaseKeeper:
    """Holds the lease, or none."""

    def __init__(self) -> None:
        self._lease: Lease | None = None

    @property
    def lease(self) -> Lease | None:
        """What was granted and has not been ended, expired or not."""
        return self._lease

    def expired(self, now_s: float) -> bool:
        return self._lease is not None and now_s >= self._lease.expires_s

    def check_free(self, caller: str, take_over: bool, now_s: float) -> None:
        """Whether a lease may be granted now; an expired one must have been ended before."""
        lease = self._lease
        if lease is None or (lease.holder == caller and take_over):
            return
        allowed = "take_over = true by the same caller" if lease.holder == caller else None
        raise Refused(
            "lease_held",
            f"{lease.holder} holds the lease of this host for another "
            f"{lease.remaining_ms(now_s)} ms unless it renews",
            field="take_over" if lease.holder == caller else None,
            value=take_over if lease.holder == caller else None,
            allowed=allowed,
        )

    def grant(self, caller: str, epoch: int, period_ms: int, now_s: float) -> Lease:
        """Begin a lease; `epoch` has been made durable before."""
        if self._lease is not None and epoch <= self._lease.epoch:
            raise ValueError(f"epoch {epoch} does not fence {self._lease.epoch}")
        ttl_s = PERIODS_TO_LIVE * period_ms / 1000
        self._lease = Lease(caller, epoch, ttl_s, now_s + ttl_s)
        return self._lease

    def admit(self, caller: str, epoch: int, sequence: int) -> Lease:
        """Let one command of the holder through and use up its sequence number.

        The number is used up even if the command is refused for another reason afterwards: what
        was refused once must not take effect when somebody sends it again.
        """
        lease = self._lease
        if lease is None:
            raise Refused("no_lease", "nobody holds the lease of this host, ask for it first")
        if epoch != lease.epoch:
            raise Refused(
                "stale_epoch",
                f"epoch {epoch} is over, the lease of {lease.holder} has epoch {lease.epoch}",
                field="epoch",
                value=epoch,
                allowed=str(lease.epoch),
            )
        if caller != lease.holder:
            raise Refused("lease_held", f"{lease.holder} holds the lease of this host")
        if sequence <= lease.sequence:
            raise Refused(
                "replayed",
                f"sequence {sequence} was used already, the last one was {lease.sequence}",
                field="sequence",
                value=sequence,
                allowed=f"above {lease.sequence}",
            )
        self._lease = replace(lease, sequence=sequence)
        return self._lease

    def renew(self, now_s: float) -> Lease:
        """Extend the lease after `admit` let the command through."""
        lease = self._lease
        if lease is None:
            raise ValueError("there is no lease to renew")
        self._lease = replace(lease, expires_s=now_s + lease.ttl_s)
        return self._lease

    def end(self) -> None:
        self._lease = None
