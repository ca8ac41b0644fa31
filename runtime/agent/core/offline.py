"""Restores a host whose agent is gone, from its journal (`ExecStopPost`, or by hand)."""

from dataclasses import dataclass
from pathlib import Path

from energy.tree import FolderTree
from runtime.agent.core.audit import AuditLog
from runtime.agent.core.journal import OriginalsJournal
from runtime.agent.core.restore import restore_host
from runtime.agent.core.state import StateLock, StateLocked
from runtime.agent.host.host import read_boot_id
from runtime.agent.service.settings import AgentConfig
from runtime.clock import SystemClock

_BYTES_PER_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class OfflineOutcome:
    """What was done, for a person."""

    words: str
    failed: bool


def restore_offline(config: AgentConfig, root: Path) -> OfflineOutcome:
    """Leaves a host alone whose agent lives: that one restores it itself."""
    if config.emulation.enabled:
        return OfflineOutcome("nothing to restore, the host was emulated", False)
    folder = Path(config.files.state)
    if not folder.is_dir():
        return OfflineOutcome("nothing to restore, no agent has run here", False)
    clock = SystemClock()
    tree = FolderTree(root)
    try:
        with StateLock(folder) as lock:
            audit = AuditLog(
                Path(config.files.audit), config.files.audit_max_mb * _BYTES_PER_MB, clock
            )
            restored = restore_host(OriginalsJournal(lock, read_boot_id(tree)), tree, audit)
    except StateLocked as error:
        return OfflineOutcome(f"left to the agent that is running: {error}", False)
    parts = [
        f"{words}: {', '.join(names)}"
        for words, names in (
            ("restored", restored.restored),
            ("left alone, changed by somebody else", restored.left_alone),
            ("failed", [f"{name} ({why})" for name, why in restored.failed.items()]),
        )
        if names
    ]
    return OfflineOutcome("; ".join(parts) or "nothing to restore", bool(restored.failed))
