"""The search itself: successive halving over drawn candidates, then their neighbours.

Pure: what a candidate achieves on a block comes from a function that is passed in. Candidates begin
on the few blocks where the load changes most; the better ones go on to more blocks, joined by
neighbours and by compromises with the present configuration; the best run on blocks that cover
much more of the trace, because violations are rare and few blocks have next to none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from runtime.tuning.knobs import Knobs, KnobSpace
from runtime.tuning.outcome import TuningOutcome, summed
from runtime.tuning.trace import Trace, TraceBlock

ROUGHNESS_S = 30.0

Evaluate = Callable[[Sequence[tuple[Knobs, TraceBlock]]], Sequence[TuningOutcome]]
"""Outcomes in the order of what was asked for."""
Cost = Callable[[TuningOutcome, TuningOutcome], float]
"""Of a candidate, given what the present configuration achieves on the same blocks."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How much is tried; the defaults take two cores a few minutes."""

    candidates: int = 24
    """In the first round, beside the present configuration: six probes, the rest drawn."""
    folds: int = 4
    blocks_per_fold: int = 2
    block_s: float = 900.0
    first_blocks: int = 2
    second_blocks: int = 4
    survivors: int = 6
    neighbours: int = 8
    """In the second round: every other one of the present configuration, the rest of the
    survivors."""
    finalists: int = 6
    proof_blocks_per_fold: int = 4
    """What finalists run on: of twice the length, so eight hours of the trace at most."""

    @property
    def proof_block_s(self) -> float:
        return 2.0 * self.block_s

    def evaluations(self) -> int:
        """Simulations at most."""
        second = 1 + self.survivors + self.neighbours + self.compromises
        final = 1 + self.finalists
        blocks = self.folds * self.blocks_per_fold
        proofs = self.folds * self.proof_blocks_per_fold
        return (
            (1 + self.candidates) * min(self.first_blocks, blocks)
            + second * min(self.second_blocks, blocks)
            + final * proofs
        )

    @property
    def compromises(self) -> int:
        return min(2, self.survivors)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What it achieved on every block, in the order of the blocks."""

    knobs: Knobs
    outcomes: tuple[TuningOutcome, ...]

    @property
    def total(self) -> TuningOutcome:
        return summed(self.outcomes)

    def on(self, blocks: Sequence[TraceBlock], folds: Sequence[int]) -> TuningOutcome:
        """Summed over the blocks of some folds."""
        pairs = zip(blocks, self.outcomes, strict=True)
        return summed(outcome for block, outcome in pairs if block.fold in folds)


def evaluated(
    candidates: Sequence[Knobs], blocks: Sequence[TraceBlock], evaluate: Evaluate
) -> list[Candidate]:
    """Each on every block."""
    outcomes = iter(evaluate([(knobs, block) for knobs in candidates for block in blocks]))
    return [Candidate(knobs, tuple(islice(outcomes, len(blocks)))) for knobs in candidates]


def search(
    space: KnobSpace,
    blocks: Sequence[TraceBlock],
    proofs: Sequence[TraceBlock],
    plan: SearchPlan,
    evaluate: Evaluate,
    cost: Cost,
    random: np.random.Generator,
) -> tuple[Candidate, tuple[Candidate, ...]]:
    """The present configuration and the finalists, best first, each on `proofs`."""
    base = space.around
    probes = space.probes()[: plan.candidates]
    drawn = [space.draw(random) for _ in range(plan.candidates - len(probes))]
    first = _without(base, [*probes, *drawn])
    best = _ranked(base, first, blocks[: plan.first_blocks], evaluate, cost)[: plan.survivors]
    parents = [parent for knobs in best for parent in (base, knobs)]
    near = [space.near(parents[index % len(parents)], random) for index in range(plan.neighbours)]
    between = [space.towards(knobs, 0.5) for knobs in best[: plan.compromises]]
    second = _without(base, [*best, *near, *between])
    best = _ranked(base, second, blocks[: plan.second_blocks], evaluate, cost)[: plan.finalists]
    present, *rest = evaluated([base, *best], proofs, evaluate)
    rest.sort(key=lambda candidate: cost(candidate.total, present.total))
    return present, tuple(rest)


def hardest_first(trace: Trace, blocks: Sequence[TraceBlock]) -> tuple[TraceBlock, ...]:
    """Every fold's roughest block, then every fold's second, and so on."""

    def roughness(block: TraceBlock) -> float:
        rates = trace.part(block.begin_s, block.end_s).at_step(max(ROUGHNESS_S, trace.bin_s))
        return float(np.abs(np.diff(rates)).sum()) if len(rates) > 1 else 0.0

    rank: dict[TraceBlock, int] = {}
    for fold in {block.fold for block in blocks}:
        own = sorted((block for block in blocks if block.fold == fold), key=roughness, reverse=True)
        rank |= {block: place for place, block in enumerate(own)}
    return tuple(sorted(blocks, key=lambda block: (rank[block], -roughness(block), block.begin_s)))


def _ranked(
    base: Knobs,
    candidates: Sequence[Knobs],
    blocks: Sequence[TraceBlock],
    evaluate: Evaluate,
    cost: Cost,
) -> list[Knobs]:
    present, *others = evaluated([base, *candidates], blocks, evaluate)
    others.sort(key=lambda candidate: cost(candidate.total, present.total))
    return [candidate.knobs for candidate in others]


def _without(base: Knobs, candidates: Sequence[Knobs]) -> list[Knobs]:
    """Each once."""
    return [knobs for knobs in dict.fromkeys(candidates) if knobs != base]
