"""The meter on pyRAPL, with what is wrong with pyRAPL kept inside this file.

pyRAPL looks for its files at fixed paths, knows only decimal ids and one die in a package, fails
whole for one bad socket, never closes a file, never handles a wrap, raises without words, and
keeps one global sensor. Here it opens and reads one counter at a time in a folder that it is
given; zones, wraps and reasons come from the same code as the powercap meter's.
"""

import importlib
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from energy.errors import MeterUnavailable
from energy.meters.contract import MeterName, PowerSource
from energy.meters.powercap import RaplMeter
from energy.meters.zones import RaplZone, UnreadableCount, fault_words, rapl_zones
from energy.tree import FolderTree, Tree

_log = logging.getLogger(__name__)


class PyraplMeter(RaplMeter):
    """Packages and their dram, which is all that pyRAPL knows of."""

    name: MeterName = "pyrapl"

    def __init__(self, tree: Tree, source: PowerSource = "measured") -> None:
        if not isinstance(tree, FolderTree):
            raise MeterUnavailable("pyRAPL opens files itself and cannot read a host in memory")
        zones = [zone for zone in rapl_zones(tree) if zone.kind in {"package", "dram"}]
        if not zones:
            raise MeterUnavailable("pyRAPL reads packages and dram, and this host counts neither")
        super().__init__(zones, source)
        self._pyrapl = _load_pyrapl()
        self._root = str(tree.root).rstrip("/")

    def _read_uj(self, zone: RaplZone) -> int:
        path = zone.energy_path
        try:
            with self._reader(self._root + zone.folder) as reader:
                (value_uj,) = reader.energy()
            count_uj = int(value_uj)
        except OSError as error:
            raise UnreadableCount(fault_words(path, error)) from error
        except (ValueError, OverflowError, self._pyrapl.PyRAPLException) as error:
            words = str(error) or "no reason given"
            raise UnreadableCount(f"{path}: pyRAPL: {type(error).__name__}, {words}") from error
        if count_uj < 0 or count_uj != value_uj:
            raise UnreadableCount(f"{path}: pyRAPL read {value_uj}, which counts no microjoules")
        return count_uj

    @contextmanager
    def _reader(self, folder: str) -> Iterator[Any]:
        """pyRAPL's reader of one counter, without the constructor that searches /sys for it.

        Opened for each reading: an open file of a zone that went and came back stays dead.
        """
        reader = self._pyrapl.PkgAPI.__new__(self._pyrapl.PkgAPI)
        reader._socket_ids = [0]
        reader._get_socket_directory_names = lambda: [(folder, 0)]
        reader._sys_files = reader._open_rapl_files()
        try:
            yield reader
        finally:
            for file in reader._sys_files:
                file.close()


class _WithoutOutputs(MetaPathFinder):
    """Refuses what pyRAPL imports only to export results: it would cost 70 MB of memory."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname.partition(".")[0] in {"pandas", "pymongo"}:
            raise ModuleNotFoundError(f"{fullname} is left out", name=fullname)
        return None


class _Collect(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@cache
def _load_pyrapl() -> ModuleType:
    """Imported once, when the meter is chosen; what it says meanwhile goes to this file's log.

    Its warning through the root logger would otherwise set up that logger for the whole process,
    and its invalid escapes stop an interpreter that treats warnings as errors.
    """
    finder, collect, root = _WithoutOutputs(), _Collect(), logging.getLogger()
    sys.meta_path.insert(0, finder)
    root.addHandler(collect)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = importlib.import_module("pyRAPL")
    except ImportError as error:
        raise MeterUnavailable(f"pyRAPL cannot be imported: {error}") from error
    finally:
        root.removeHandler(collect)
        sys.meta_path.remove(finder)
    for words in [*collect.messages, *(str(warning.message) for warning in caught)]:
        _log.info("pyRAPL, while it was imported: %s", " ".join(words.split()))
    return module
