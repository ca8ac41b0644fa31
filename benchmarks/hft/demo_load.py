"""The demo's wave of load, and how high it may be on this machine.

Emulated hosts are shares of real cores, and a core is no fixed thing: two virtual ones may slow
each other down to half. Quotes/s that are a wave on one machine are an overload on the next, where
all policies are late and nothing can be told apart. So the work of the pipeline is timed first, and
the top of the wave is what all executors at full speed serve in little more than half a trigger
interval, on any machine: the rest is room for slower frequencies, and for first batches of new
executors, which are seconds longer.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import fmean

import msgspec

from benchmarks.hft.measure.throughput import alone_cpu_s
from benchmarks.hft.stream.replay import Replay
from mpc.simulation.micro_batch import MicroBatchTraits

WAVE = Replay(rate="wave", peak_per_s=56_000.0, trough_per_s=4_000.0, period_s=180.0, symbols=100)
"""On a machine of speed 1."""
REFERENCE = MicroBatchTraits(overhead_s=1.4, batch_cycles=5.3e9, row_cycles=88_000.0)
"""What `foresight bench calibrate-plant` found on emulated hosts, on a machine of speed 1."""
REFERENCE_FIT_CPU_S = 6.5
"""CPU time there that the fits of a million quotes take. Not measured: `foresight bench pipeline`
gave 7.0 s there beside other work, and 6.5 makes a second machine as slow as its batches were."""
FULL_SPEED_HZ = 2e9
"""Of an emulated CPU at its highest frequency, whatever share of a core that is."""
BATCH_SHARE = 0.55
"""Of a trigger interval: what a batch at the top takes, with all executors at full speed."""
TOP = 1.06
"""A batch averages over the top of the wave, which may so be a little above what is served."""
LEAST_PER_S = 1_000.0
"""Less is no load any more: where even that is too much, the demo runs and is late."""
TIMED_QUOTES = 400_000
TIMED_PROCESSES = 2
"""The emulated hosts together have nearly two cores."""


def scaled_wave(speed: float, executors: int, trigger_interval_s: float) -> Replay:
    """The wave for a machine of this speed, with as deep a trough."""
    peak_per_s = top_per_s(speed, executors, trigger_interval_s)
    depth = (WAVE.trough_per_s or 0.0) / WAVE.peak_per_s
    return msgspec.structs.replace(
        WAVE, peak_per_s=peak_per_s, trough_per_s=round(depth * peak_per_s, -2)
    )


def machine_speed(quotes: int = TIMED_QUOTES) -> float:
    """This machine's against the reference's, with its cores at work side by side; some seconds."""
    processes = min(TIMED_PROCESSES, os.cpu_count() or 1)
    # spawn: a fork would inherit the threads of numerical libraries in an unknown state.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        timed_s = list(pool.map(_fit_cpu_s, [quotes] * processes))
    return REFERENCE_FIT_CPU_S / fmean(timed_s)


def top_per_s(speed: float, executors: int, trigger_interval_s: float) -> float:
    """Quotes/s at the top of a wave for a machine of this speed.

    A batch takes o + (w + B * c) / (n * f), all of it slower by the speed; solved for B, the quotes
    of one interval.
    """
    work_s = max(BATCH_SHARE * trigger_interval_s - REFERENCE.overhead_s / speed, 0.0)
    cycles = work_s * executors * FULL_SPEED_HZ * speed - REFERENCE.batch_cycles
    served_per_s = cycles / REFERENCE.row_cycles / trigger_interval_s
    return max(round(TOP * served_per_s, -2), LEAST_PER_S)


def _fit_cpu_s(quotes: int) -> float:
    return alone_cpu_s(quotes)["fit"]
