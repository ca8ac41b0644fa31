"""A powercap tree in a folder, with counters that wrap as the kernel's do."""

from pathlib import Path

from energy.tree import POWERCAP, FolderTree

INTEL_RANGE_UJ = 262_143_328_850
AMD_RANGE_UJ = 65_532_610_987


class RaplTree:
    def __init__(self, root: Path) -> None:
        self.tree = FolderTree(root)
        self._powercap = root / POWERCAP.lstrip("/")
        self._powercap.mkdir(parents=True)

    def add(
        self, folder: str, name: str | None, energy_uj: int = 0, range_uj: int = INTEL_RANGE_UJ
    ) -> None:
        (self._powercap / folder).mkdir()
        if name is not None:
            self.put(folder, "name", f"{name}\n")
        self.put(folder, "max_energy_range_uj", f"{range_uj}\n")
        self.put(folder, "energy_uj", f"{energy_uj}\n")

    def control_type(self, name: str) -> None:
        (self._powercap / name).mkdir()
        self.put(name, "enabled", "1\n")

    def put(self, folder: str, attribute: str, text: str) -> None:
        (self._powercap / folder / attribute).write_text(text)

    def spend(self, folder: str, energy_uj: int) -> None:
        path = self._powercap / folder / "energy_uj"
        range_uj = int((self._powercap / folder / "max_energy_range_uj").read_text())
        path.write_text(f"{(int(path.read_text()) + energy_uj) % (range_uj + 1)}\n")

    def hide(self, folder: str) -> None:
        """The counter can no longer be read, whoever asks; root may read a file of mode 0."""
        path = self._powercap / folder / "energy_uj"
        # Removed and not renamed: a tree that keeps the file open must notice.
        path.with_name("hidden").write_text(path.read_text())
        path.unlink()
        path.mkdir()

    def show(self, folder: str) -> None:
        path = self._powercap / folder / "energy_uj"
        path.rmdir()
        path.with_name("hidden").rename(path)

    def remove(self, folder: str) -> None:
        for path in (self._powercap / folder).iterdir():
            path.unlink()
        (self._powercap / folder).rmdir()
