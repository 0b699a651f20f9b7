"""What a search finds: beside the best script that was written by hand, and beside a search with another seed."""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial, reduce
from pathlib import Path

from bounds import met
from cases import SHORT_TURN_S, as_ours, huge_pages
from jobs import JOBS, SEEDS_JOBS, ZOO_JOBS, Job
from levers import ratio
from ours import Ours
from programs import Bare, Program
from protocol import FOLDER
from trainspeed.conduct.context import Context, new_id
from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.study import measure
from trainspeed.core.format import counted, minutes
from trainspeed.core.ledger import Ledger
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, judge
from trainspeed.search.findings import Findings
from trainspeed.studies.switches.plan import STUDY, findings, plan_switches
from turns import of_a_set

HERE = Path(__file__).parent
CONFIRM_BLOCKS = 9
ROUNDS = 8  # of turns in a set
# The plain setting is more than twice as slow as the best script, which sets the pace, and has a few epochs in a turn.
TURN_EPOCHS = 12
TURNS = {"rounds": ROUNDS, "turn_s": SHORT_TURN_S, "turn_epochs": TURN_EPOCHS}
# Scripts that are at most this much slower than the fastest one, in the set that chooses, are all measured in the
# others: one set cannot tell which is the best, and the search's best has to be as fast as each of them.
CLOSE = 0.05
CHOICE_TURN_S = 2.0  # where the script is chosen: a turn has to hold a few epochs of the slowest one, too
# A script lowers its graphs in its own process, as each of our runs does: PyTorch's caches of earlier scripts would
# spare it that. A script without them had 0.992 (0.979 to 1.006) of the throughput of one with them in 18 sets: not
# decided, but no run of ours has them. The rows say so.
LOWERS_ANEW = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
SEEDS = (0, 50_000)  # so far apart that no block has a seed of the other search
AGREE = 0.03  # between the speeds of what two searches kept
Measure = Callable[..., dict[str, list[float]]]


@dataclass(frozen=True, kw_only=True)
class Amount:
    """How much is measured.

    Attributes:
        sets: Of fresh processes; None: as usual.
        search_s: Seconds of each search; None: as usual.
        resume: Whether to take what an earlier search measured, where its ledger is kept, and measure the sets anew.
    """

    sets: int | None = None
    search_s: float | None = None
    resume: bool = False


USUAL = Amount()


def parts(measured: Measure, amount: Amount = USUAL) -> dict[str, Callable[[], list[str]]]:
    """Return name -> what measures a search, of our model or of one of a library, and returns its rows.

    Args:
        measured: `run.turns_of`.
    """
    jobs = {f"best {name}": job for name, job in JOBS.items()}
    jobs |= {f"zoo {name}": job for name, job in ZOO_JOBS.items()}
    of = {name: (_best_of, job) for name, job in jobs.items()}
    of |= {f"seeds {name}": (_of_two_seeds, job) for name, job in SEEDS_JOBS.items()}
    return {
        name: partial(rows, job, measured, amount)
        for name, (rows, job) in of.items()
        if find_interpreter(job.framework)
    }


def search(job: Job, *, seed: int, budget_s: float, resume: bool = False) -> Findings:
    """Return what a search of so many seconds finds for a job, with the plain setting of the notebook on switches.

    Its ledger is kept, and with `resume` what that holds of an earlier search is not measured again.
    """
    plan = plan_switches(
        frameworks=[job.framework],
        models=[job.model],
        levers=job.levers,
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
        **job.work,
    )
    kept = _ledger(job, seed, budget_s)
    if resume and (earlier := kept.newest()):
        runs = kept.read(earlier)[0]
    else:
        with tempfile.TemporaryDirectory() as folder:
            context = Context(id=new_id(), out=Path(folder))
            limits = {"timeout_s": 300.0, "interval_s": 1.0, "turn_s": 0.4}
            runs = measure(STUDY, plan, budget_s=budget_s, context=context, **limits).runs
        kept.append(*runs)  # as a whole: no search that was cut off is taken for one that came to its end
    (found,) = findings(plan, runs)
    return found


def _ledger(job: Job, seed: int, budget_s: float) -> Ledger:
    """Return what a search's runs are kept in; another one's seconds or levers are not the same search."""
    levers = hashlib.sha256(" ".join(job.levers).encode()).hexdigest()[:8]
    name = f"{job.name.replace('/', ' ')}, {budget_s:g} s, seed {seed}, levers {levers}"
    return Ledger(FOLDER / f"search of {name}")


def _day(job: Job, budget_s: float) -> str:
    """Return the day on which the search was that is kept, such as "on 2026-11-28"; nothing where none is."""
    session = _ledger(job, SEEDS[0], budget_s).newest().get(STUDY, "")
    return f" on {datetime.strptime(session[:8], '%Y%m%d'):%Y-%m-%d}" if session else ""


def _best_of(job: Job, measured: Measure, amount: Amount) -> list[str]:
    began, budget_s = time.monotonic(), amount.search_s or job.search_s
    limit = f", {minutes(job.limit_s)} in all" if job.limit_s < math.inf else ""
    print(f"{job.name}: a search of {minutes(budget_s)}, then scripts{limit}", flush=True)
    found = search(job, seed=SEEDS[0], budget_s=budget_s, resume=amount.resume)
    print(f"{job.name}: the best of its search: {_kept(found)}", flush=True)
    try:
        return _beside_scripts(job, found, measured, amount.sets or job.sets, budget_s, began + job.limit_s)
    except SystemExit as problem:  # what was found is worth a row without it
        return [f"| {job.name}: the search's best and the best script | not measured: {problem} | | |"]


def _beside_scripts(
    job: Job, found: Findings, measured: Measure, sets: int, budget_s: float, deadline_s: float
) -> list[str]:
    began = time.monotonic()
    turns = TURNS | {"turn_s": CHOICE_TURN_S}
    pilot = measured(partial(_programs, job, {}, tuple(job.by_hand)), sets=1, **turns)
    seconds = of_a_set({name: pilot[name] for name in job.by_hand})
    fastest_s = min(seconds.values())
    scripts = tuple(name for name in seconds if seconds[name] <= fastest_s * (1 + CLOSE))
    trials = {"plain": found.start} | ({"found": found.best} if found.kept else {})
    now = time.monotonic()
    first, own_s = seconds[next(iter(job.by_hand))], seconds[scripts[0]]  # one like the first sets the pace
    start_s = (now - began) / len(job.by_hand) - ROUNDS * max(CHOICE_TURN_S, TURN_EPOCHS * first)
    set_s = (len(scripts) + len(trials)) * (start_s + ROUNDS * max(SHORT_TURN_S, TURN_EPOCHS * own_s))
    sets = sets if now + sets * set_s <= deadline_s else min(sets, MIN_BLOCKS)
    print(f"{job.name}: {counted(sets, 'set')}, about {minutes(sets * set_s)}", flush=True)
    seconds = measured(partial(_programs, job, trials, scripts), sets=sets, **TURNS)
    plain = seconds["plain"]
    own = seconds["found"] if found.kept else plain
    gain = ratio(judge(plain, own)) if found.kept else "it is the plain setting"
    return [
        f"| {job.name}: the best of a search of {minutes(budget_s)}{_day(job, budget_s)} ({_kept(found)}) / plain | "
        f"{gain} | printed | |",
        *(row for script in scripts for row in _against(job, script, seconds[script], plain, own)),
    ]


def _against(
    job: Job, script: str, by_hand: Sequence[float], plain: Sequence[float], own: Sequence[float]
) -> list[str]:
    """Return the rows on a script by hand; which of those that are close is the best is left open."""
    against = judge(by_hand, own)
    without = " without caches of graphs" if job.framework == "torch" and "compiled" in script else ""
    return [
        f"| {job.name}: the script ({script}){without} / plain | {ratio(judge(plain, by_hand))} | printed | |",
        f"| {job.name}: throughput of the search's best / the script ({script}) | {ratio(against)} | "
        f"at least {1 - MARGIN:.2f} | {met(against, at_least=1 - MARGIN)} |",
    ]


def _of_two_seeds(job: Job, measured: Measure, amount: Amount) -> list[str]:
    """Return the rows on two searches with different seeds, which are timed where they kept different sets."""
    budget_s = amount.search_s or job.search_s
    one, two = (search(job, seed=seed, budget_s=budget_s, resume=amount.resume) for seed in SEEDS)
    claims = [
        f"| {job.name}: what the search with seed {seed} kept ({_kept(found)}) / plain, as it claims | "
        f"{_claimed(found)} | printed | |"
        for seed, found in zip(SEEDS, (one, two), strict=True)
    ]
    if one.best.spec == two.best.spec:
        return [*claims, f"| {job.name}: two searches kept the same set | yes | printed | |"]
    trials = {"plain": one.start, "one": one.best, "two": two.best}
    seconds = measured(partial(_programs, job, trials), sets=amount.sets or job.sets, **TURNS)
    agreement = judge(seconds["one"], seconds["two"])
    gains = [
        f"| {job.name}: the same with seed {seed}, measured anew | {ratio(judge(seconds['plain'], seconds[name]))} | "
        "printed | |"
        for name, seed in zip(("one", "two"), SEEDS, strict=True)
    ]
    within = met(agreement, at_least=1 / (1 + AGREE), at_most=1 + AGREE)
    return [
        *claims,
        *gains,
        f"| {job.name}: throughput of what two searches kept, the second / the first | {ratio(agreement)} | "
        f"within {AGREE:.0%} | {within} |",
    ]


def _programs(
    job: Job, trials: Mapping[str, Trial], by_hand: Sequence[str] = ("by hand",)
) -> dict[str, Program]:
    """Return the scripts by hand, of which one like the first sets the pace, and a run of each trial.

    All have huge pages where one may ask for them, whatever the search kept: see `cases.huge_pages`.
    """
    work = tuple(job.work[name] for name in ("batch_size", "images_per_epoch", "image_size"))
    environment = as_ours() | LOWERS_ANEW
    bare = partial(Bare, job.framework, str(HERE / job.script), work, environment=environment)
    programs: dict[str, Program] = {name: bare(extras=job.by_hand[name]) for name in by_hand}
    first: Ours | None = None
    for name, trial in trials.items():
        own = reduce(lambda trial, page: trial.pulled(*page), huge_pages(), trial)
        programs[name] = Ours(own.in_block(0), ROUNDS, sibling=first)
        first = first or programs[name]
    return programs


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
