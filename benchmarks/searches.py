"""What a search finds: beside the best script that was written by hand, and beside a search with another seed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from bounds import met
from levers import TURN_EPOCHS, TURN_S, ratio
from ours import Ours
from programs import Bare, Program
from trainspeed.conduct.context import Context, new_id
from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.study import measure
from trainspeed.core.levers.host import MALLOC_THRESHOLDS
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import MARGIN, judge
from trainspeed.search.findings import Findings
from trainspeed.studies.switches.plan import STUDY, findings, plan_switches
from turns import of_a_set

HERE = Path(__file__).parent
# Framework -> the script, and the levers that a search of a few minutes can try: those of an environment cost a worker,
# and torch.compile half a minute a run.
SCRIPTS = {"torch": "best_torch.py", "tensorflow": "best_tensorflow.py"}
LEVERS = {
    "torch": ("layout", "precision", "optimizer", "flush_denormal", "math_mode"),
    "tensorflow": ("layout", "precision", "compile", "steps_per_call", "pure_bf16", "uint8"),
}
# Name -> further arguments of the script. The search has bf16 among its levers, and so have these.
BY_HAND = {
    "by hand": (),
    "by hand, compiled": ("compiled",),
    "by hand, bf16": ("bf16",),
    "by hand, bf16, compiled": ("bf16", "compiled"),
}
WORK = {"batch_size": 16, "image_size": 16, "images_per_epoch": 64}  # as quick has it
CONFIRM_BLOCKS = 9
BEST_S, SEEDS_S = 140.0, 200.0  # seconds of a search
# Sets of fresh processes, each with luck of its own, and rounds of turns in each; `best` chooses the script by hand in
# a set before these, which counts for nothing else.
SETS, ROUNDS = 9, 8
TURNS = {"rounds": ROUNDS, "turn_s": TURN_S, "turn_epochs": TURN_EPOCHS}
SEEDS = (0, 50_000)  # so far apart that no block has a seed of the other search
AGREE = 0.03  # between the speeds of what two searches kept
Measure = Callable[..., dict[str, list[float]]]


def search(framework: str, *, seed: int, budget_s: float) -> Findings:
    """Return what a search of so many seconds finds for cnn10, with the plain setting of the notebook on switches."""
    plan = plan_switches(
        frameworks=[framework],
        models=["cnn10"],
        levers=LEVERS[framework],
        already_on=0,
        blocks=1,
        batch_blocks=0,
        confirm_blocks=CONFIRM_BLOCKS,
        pipeline="arrays",
        epochs=3,
        accuracy_margin=0.5,
        dataset="digits",
        seed=seed,
        budget_s=budget_s,
        **WORK,
    )
    with tempfile.TemporaryDirectory() as folder:
        context = Context(id=new_id(), out=Path(folder))
        limits = {"timeout_s": 300.0, "interval_s": 1.0, "turn_s": 0.4}
        runs = measure(STUDY, plan, budget_s=budget_s, context=context, **limits).runs
    (found,) = findings(plan, runs)
    return found


def best(measured: Measure) -> list[str]:
    """Return the rows on the plain setting, what a search finds, and a script by hand, of each framework.

    Args:
        measured: `run.turns_of`.
    """
    return [row for name in SCRIPTS if find_interpreter(name) for row in _best_of(name, measured)]


def _best_of(framework: str, measured: Measure) -> list[str]:
    found = search(framework, seed=SEEDS[0], budget_s=BEST_S)
    print(f"{framework}: the search kept {_kept(found)}", flush=True)
    try:
        return _beside_scripts(framework, found, measured)
    except SystemExit as problem:  # the other framework's rows are worth having without these
        return [f"| {framework}: the search's best and the best script | not measured: {problem} | | |"]


def _beside_scripts(framework: str, found: Findings, measured: Measure) -> list[str]:
    pilot = measured(partial(_programs, framework, {}, tuple(BY_HAND)), sets=1, **TURNS)
    seconds = of_a_set({name: pilot[name] for name in BY_HAND})
    script = min(seconds, key=seconds.__getitem__)
    trials = {"plain": found.start} | ({"found": found.best} if found.kept else {})
    seconds = measured(partial(_programs, framework, trials, (script,)), sets=SETS, **TURNS)
    plain, by_hand = seconds["plain"], seconds[script]
    own = seconds["found"] if found.kept else plain
    against = judge(by_hand, own)
    gain = ratio(judge(plain, own)) if found.kept else "it is the plain setting"
    return [
        f"| {framework}: the search's best ({_kept(found)}) / plain | {gain} | printed | |",
        f"| {framework}: the best script ({script}) / plain | {ratio(judge(plain, by_hand))} | printed | |",
        f"| {framework}: throughput of the search's best / the best script by hand | {ratio(against)} | "
        f"at least {1 - MARGIN:.2f} | {met(against, at_least=1 - MARGIN)} |",
    ]


def seeds(measured: Measure) -> list[str]:
    """Return the rows on two searches that differ in their seed alone, which are timed where they kept different sets.

    Args:
        measured: `run.turns_of`.
    """
    one, two = (search("torch", seed=seed, budget_s=SEEDS_S) for seed in SEEDS)
    claims = [
        f"| torch: what the search with seed {seed} kept ({_kept(found)}) / plain, as it claims | "
        f"{_claimed(found)} | printed | |"
        for seed, found in zip(SEEDS, (one, two), strict=True)
    ]
    if one.best.spec == two.best.spec:
        return [*claims, "| torch: two searches kept the same set | yes | printed | |"]
    trials = {"plain": one.start, "one": one.best, "two": two.best}
    seconds = measured(partial(_programs, "torch", trials), sets=SETS, **TURNS)
    agreement = judge(seconds["one"], seconds["two"])
    gains = [
        f"| torch: the same with seed {seed}, measured anew | {ratio(judge(seconds['plain'], seconds[name]))} | "
        "printed | |"
        for name, seed in zip(("one", "two"), SEEDS, strict=True)
    ]
    within = met(agreement, at_least=1 / (1 + AGREE), at_most=1 + AGREE)
    return [
        *claims,
        *gains,
        f"| torch: throughput of what two searches kept, the second / the first | {ratio(agreement)} | "
        f"within {AGREE:.0%} | {within} |",
    ]


def _programs(
    framework: str, trials: Mapping[str, Trial], by_hand: Sequence[str] = ("by hand",)
) -> dict[str, Program]:
    """Return the scripts by hand, of which the first one sets the pace, and a run of each trial."""
    script = str(HERE / SCRIPTS[framework])
    bare = partial(Bare, framework, script, _work(), environment=MALLOC_THRESHOLDS)
    programs: dict[str, Program] = {name: bare(extras=BY_HAND[name]) for name in by_hand}
    first: Ours | None = None
    for name, trial in trials.items():
        programs[name] = Ours(trial.in_block(0), ROUNDS, sibling=first)
        first = first or programs[name]
    return programs


def _work() -> Sequence[int]:
    return WORK["batch_size"], WORK["images_per_epoch"], WORK["image_size"]


def _kept(found: Findings) -> str:
    return ", ".join(switch.words for switch in found.kept) or "nothing kept"


def _claimed(found: Findings) -> str:
    """Return the speed-up that fresh blocks of the search say, with its interval."""
    if not found.kept:
        return "none: it is the plain setting"
    claim = found.rest.time if found.rest else found.confirmation and found.confirmation.total
    if claim is None or claim.low is None:
        return "no interval: the fresh blocks are missing"
    return ratio(claim)
