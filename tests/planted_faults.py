"""Faults that `plant_faults.py` plants: what somebody might really write, in every layer.

A fault is found in `lib` by its text, wherever that stands. Code that changes takes its fault along: plant the
same mistake in the new words, and not an easier one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A mistake to plant.

    Attributes:
        layer: Where the code is, in words.
        old, new: Text that `lib` has once, and what is written instead.
        near: Words in the paths of tests that are likely to find it: they run first.
    """

    name: str
    layer: str
    old: str
    new: str
    near: frozenset[str]

    def is_near(self, words: set[str]) -> bool:
        """Whether a test whose path has these words is likely to find it."""
        return bool(self.near & words)


def _fault(name: str, layer: str, old: str, new: str, near: str) -> Fault:
    return Fault(name=name, layer=layer, old=old, new=new, near=frozenset(near.split()))


FAULTS = (
    _fault(
        "the first epoch counts",
        "values: run",
        "or self.epoch_s[1:]",
        "or self.epoch_s",
        "run frame",
    ),
    _fault(
        "a cut-off line takes the next one with it",
        "values: ledger",
        r'if file.read(1) != b"\n":',
        r'if file.read(1) == b"\n":',
        "ledger",
    ),
    _fault(
        "the interval is too narrow",
        "judgement: verdict",
        "2 * math.comb(count, below) / 2**count",
        "math.comb(count, below) / 2**count",
        "verdict",
    ),
    _fault(
        "runs are paired by order, not by block",
        "judgement: comparison",
        "[(known[0][key], known[1][key]) for _, key in sorted(both.items())]",
        "list(zip(known[0].values(), known[1].values(), strict=False))",
        "comparison",
    ),
    _fault(
        "epochs that get faster are not doubted",
        "judgement: doubts",
        "abs(median_low(steady[-half:]) - median_low(steady[:half]))",
        "(median_low(steady[-half:]) - median_low(steady[:half]))",
        "doubts",
    ),
    _fault(
        "the exchange hides behind the forward pass too",
        "judgement: forecast",
        "exchange_s - BACKWARD_SHARE * compute_s",
        "exchange_s - compute_s",
        "forecast",
    ),
    _fault(
        "an undecided size counts as decided",
        "judgement: crossover",
        "int(low > 1) - int(high < 1)",
        "int(self.speedup > 1) - int(self.speedup < 1)",
        "crossover",
    ),
    _fault(
        "images for a dollar are off by the seconds of an hour",
        "judgement: cost",
        'table["images_per_s"] * SECONDS_PER_HOUR / price',
        'table["images_per_s"] / price',
        "cost costs",
    ),
    _fault(
        "arithmetic and traffic of a step add up",
        "judgement: roofline",
        "None if None in times else max(times)",
        "None if None in times else sum(times)",
        "roofline ceilings",
    ),
    _fault(
        "an error of NVML is read as 0",
        "sensors: NVML",
        "return None, reason_of(error)",
        "return 0, reason_of(error)",
        "nvml gpus",
    ),
    _fault(
        "processes that a run started count as others",
        "sensors: CPU",
        "(root, *root.children(recursive=True))",
        "(root,)",
        "cpu",
    ),
    _fault(
        "an epoch begins while earlier work is still queued",
        "work: timing",
        "self._synchronize()\n        self._started",
        "self._started",
        "timing",
    ),
    _fault(
        "images are moved alike in every epoch",
        "work: batches",
        "_random(self.seed, epoch, index)",
        "_random(self.seed, index)",
        "batches pipelines augmentation",
    ),
    _fault(
        "accuracy is measured in training mode",
        "work: torch backend",
        "self.model.eval()",
        "self.model.train()",
        "backends models zoo strategies",
    ),
    _fault(
        "arms of a block have different seeds",
        "conduct: plan",
        "trial.in_block(block)",
        "trial.in_block(block + len(runs))",
        "plan",
    ),
    _fault(
        "accuracy is measured in one block too many",
        "conduct: runner",
        "planned.block < self.accuracy_blocks",
        "planned.block <= self.accuracy_blocks",
        "runner",
    ),
    _fault(
        "the table of results shows means",
        "showing: tables",
        '"peak_memory_bytes"]].astype(float).median()',
        '"peak_memory_bytes"]].astype(float).mean()',
        "tables",
    ),
    _fault(
        "a claim the other way round has its interval upside down",
        "articles",
        "low=self.high and 1 / self.high",
        "low=self.low and 1 / self.low",
        "articles evidence claims",
    ),
    _fault(
        "the pasted loss takes logits for probabilities",
        "recipe: code to paste",
        "SparseCategoricalCrossentropy(from_logits=True)\n{{",
        "SparseCategoricalCrossentropy(from_logits=False)\n{{",
        "code snippets paste",
    ),
    _fault(
        "the gain of channels_first is told as a loss",
        "findings: layout",
        "v.speedup if outcome == Outcome.FASTER else 1 / v.speedup",
        "v.speedup",
        "layout",
    ),
    _fault(
        "the sides of a comparison of ledgers are swapped",
        "across: pairs",
        "timed(trial.runs[s])] for s in (first, side)",
        "timed(trial.runs[s])] for s in (side, first)",
        "compare across",
    ),
    _fault(
        "a page that could not be made is no failure: exit code 0",
        "report: run",
        "NotebookStatus.FAILED if result.status is NotebookStatus.OK else result.status",
        "result.status",
        "report notebooks",
    ),
    _fault(
        "pages are written without scrubbing",
        "report: export",
        r'scrub(UNSEEN.sub("\N{REPLACEMENT CHARACTER}", str(soup)))',
        r'UNSEEN.sub("\N{REPLACEMENT CHARACTER}", str(soup))',
        "export scrub",
    ),
    _fault(
        "a folder within another is named by the outer one",
        "scrub",
        "sorted(folders, key=len, reverse=True)",
        "sorted(folders, key=len)",
        "scrub",
    ),
    _fault(
        "what ends a run after its measuring takes the times along",
        "conduct: run",
        "if outcome.status is Status.OK or refused:",
        "if outcome.status is not Status.TIMEOUT or refused:",
        "forked",
    ),
    _fault(
        "rank 0 waits for a rank that died",
        "backends: ranks",
        "if not self._asked.wait(self._grace_s):",
        "if self._asked.wait(self._grace_s):",
        "rank",
    ),
)
