"""What the benchmark computes, on numbers alone: benchmarks/ is no package, and its programs are not started."""

import importlib.util
import itertools
import random
import re
import sys
from pathlib import Path

import pytest

from trainspeed.core.result import Turn
from trainspeed.core.run import Run
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import judge

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def load(name):
    """A file of benchmarks/, without a change of the import path."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where dataclasses look
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def turns():
    return load("turns")


@pytest.fixture(scope="module")
def scatter():
    return load("scatter")


@pytest.fixture(scope="module")
def bounds():
    return load("bounds")


@pytest.fixture
def rows(scatter, bounds, monkeypatch):
    """rows_of_turns.py, which imports scatter.py and bounds.py."""
    monkeypatch.setitem(sys.modules, "scatter", scatter)
    monkeypatch.setitem(sys.modules, "bounds", bounds)
    return load("rows_of_turns")


def simulate(epoch_s, on_s, off_s, *, gap_s=0.0):
    """Return the wall seconds of each epoch of a program that runs on_s[k], is stopped off_s, and so on."""
    ends = [sum(on_s[: n + 1]) for n in range(len(on_s) - 1)]  # in running time

    def wall(ran):
        return ran + off_s * sum(end <= ran for end in ends)

    found, ran = [], 0.0
    while ran + epoch_s <= sum(on_s):
        found.append(wall(ran + epoch_s) - wall(ran))
        ran += epoch_s + gap_s
    return found


def test_a_paused_epoch_parts_two_turns_and_belongs_to_neither(turns):
    found = turns.split([0.3, 0.2, 0.2, 6.1, 0.21, 0.22, 0.23, 5.9, 0.24], [1.0, 1.0, 1.0], 2.0)
    assert found == [[0.3, 0.2, 0.2], [0.21, 0.22, 0.23], [0.24]]


def test_a_first_epoch_that_traces_for_longer_than_a_pause_is_no_pause(turns):
    assert turns.split([9.0, 0.2, 6.0, 0.3], [9.5, 0.5], 2.0) == [[9.0, 0.2], [0.3]]


@pytest.mark.parametrize("gap_s", [0.0, 0.02])
def test_every_turn_gets_its_epochs(turns, gap_s):
    """Pauses fall at 0.07 s after a multiple of the turn, never between two epochs."""
    on_s = [3.07, *[2.0] * 5]
    found = turns.split(simulate(0.2 - gap_s, on_s, 6.0, gap_s=gap_s), on_s, 2.0)
    assert [len(turn) for turn in found[1:-1]] == [9, 9, 9, 9]
    assert all(seconds == pytest.approx(0.2 - gap_s) for turn in found for seconds in turn)


def test_turns_whose_pause_fell_between_two_epochs_share_their_epochs_but_those_at_the_seam(turns):
    """The second pause shows in no epoch: turns 1 and 2, of 9 epochs each, run into one another."""
    before, slow, fast, after = [0.2] * 5, [0.21] * 9, [0.2] * 9, [0.3] * 8
    epochs = [*before, 6.2, *slow, *fast, 6.2, *after, 6.2, 0.4]
    found = turns.split(epochs, [1.1, 2.0, 2.0, 2.5, 2.0], 2.0)
    assert (
        found[1] == slow[:7]
    )  # the seam is taken to be after the eighth: the eighth and the ninth are left out
    assert found[2] == fast
    assert [found[0], *found[3:]] == [before, after, [0.4]]


def test_three_turns_that_run_into_one_another_are_three(turns):
    found = turns.split([0.2, 6.2, *[0.2] * 28], [0.3, 2.0, 2.0, 2.0], 2.0)
    assert [len(turn) for turn in found] == [1, 8, 7, 9]


def test_more_pauses_than_turns_raise(turns):
    with pytest.raises(ValueError, match="only 2 turns were given"):
        turns.split([0.2, 6.0, 0.2, 6.0, 0.2], [0.3, 2.0], 2.0)


def test_the_cold_epoch_after_a_pause_does_not_count(turns):
    assert turns.turn_epoch_s([9.0, 0.1, 0.3, 0.2]) == 0.2
    assert turns.turn_epoch_s([9.0, 0.1]) is None


def test_a_round_counts_only_where_every_program_has_a_turn(turns):
    found = turns.paired({"bare": [1.0, None, 3.0, 4.0], "ours": [1.5, 2.5, 3.5]})
    assert found == {"bare": [1.0, 3.0], "ours": [1.5, 3.5]}


def test_nobody_has_two_turns_in_a_row_not_even_after_the_start(turns):
    names = ["bare", "again", "ours"]
    found = turns.orders(names, 50, seed=1)
    in_time = [names[-1], *[name for order in found for name in order]]
    assert all(sorted(order) == sorted(names) for order in found)
    assert all(one != two for one, two in itertools.pairwise(in_time))
    assert found == turns.orders(names, 50, seed=1) != turns.orders(names, 50, seed=2)


def test_turns_are_as_short_as_is_asked_for(turns):
    usual, short = (turns.Pace(epoch_s=0.05, **more) for more in ({}, {"least_s": 0.4}))
    assert (usual.turn_s, short.turn_s) == (1.5, 0.4)
    assert turns.Pace(epoch_s=0.5, least_s=0.4, least_epochs=5).turn_s == 2.5


def test_a_ratio_of_a_set_is_of_the_same_rounds(turns):
    """The machine slows down by 1.3 and 1.7, and each program meets a burst in another round than the others."""
    planted, drift, burst = {"bare": 1.0, "with it": 0.8, "ours": 0.9}, (1.0, 1.3, 1.7), 1.5
    rounds = {
        name: [own * slow * (burst if number == hit else 1.0) for number, slow in enumerate(drift)]
        for hit, (name, own) in enumerate(planted.items())
    }
    found = turns.of_a_set(rounds)

    assert {name: found[name] / found["bare"] for name in planted} == pytest.approx(planted)
    assert 1.0 <= found["bare"] <= 1.7 * burst, "they are still seconds"


def normal(sd, count, seed):
    draw = random.Random(seed)
    return [draw.gauss(0, sd) for _ in range(count)]


def test_the_interval_of_a_ratio_of_scatters_holds_what_it_promises(scatter, bounds, monkeypatch):
    """Of 60 blocks of each of two ways, of which one scatters five times as much."""
    monkeypatch.setattr(scatter, "RESAMPLES", 1000)
    ways = [(normal(0.15, 60, seed=n), normal(0.03, 60, seed=n + 1000)) for n in range(200)]
    found = [scatter.times_smaller(*both, scatter.sd) for both in ways]

    assert sum(one.low <= 5 <= one.high for one in found) / len(found) >= 0.89
    assert {bounds.met(one, at_least=2) for one in found} == {"yes"}
    assert {bounds.met(one, at_least=50) for one in found} == {"NO"}
    assert {bounds.met(one, at_least=one.value) for one in found} == {"undecided"}


@pytest.mark.parametrize(
    ("low", "high", "met"),
    [
        (0.99, 1.03, "yes"),
        (0.98, 1.0, "yes"),
        (0.907, 1.092, "undecided"),  # however good the number between them is
        (0.9, 0.97, "NO"),
        (None, None, "undecided"),
    ],
)
def test_what_is_wanted_is_met_by_the_whole_interval(bounds, low, high, met):
    assert bounds.met(bounds.Interval(low, high), at_least=0.98) == met


def test_every_interval_on_record_is_judged_by_its_ends(bounds):
    """docs/benchmarks.md holds rows of several days, each with the words that its own numbers earn."""
    text = (BENCHMARKS.parent / "docs/benchmarks.md").read_text()
    row = re.compile(
        r"\| ([^|]*) \| [^|]*\(([\d.]+) to ([\d.]+)\)[^|]* \| (at least|at most|within) ([\d.]+)[^|]* \| (\w+) \|"
    )
    found = []
    for what, low, high, rule, limit, met in row.findall(text):
        bound = float(limit)
        within = {"at_least": 1 / (1 + bound / 100), "at_most": 1 + bound / 100}
        wanted = {"at least": {"at_least": bound}, "at most": {"at_most": bound}, "within": within}[rule]
        half = 0.5 * 10.0 ** -len(low.partition(".")[2])  # that rounding may have moved an end by
        ends = [(float(low) + a, float(high) + b) for a in (-half, 0.0, half) for b in (-half, 0.0, half)]
        found.append((what, met, {bounds.met(bounds.Interval(*both), **wanted) for both in ends}))
    assert len(found) >= 8
    assert [row for row in found if row[1] not in row[2]] == []
    assert sum(len(earned) > 1 for *_, earned in found) <= len(found) / 4, "rounding leaves too much open"


def test_one_episode_moves_the_standard_deviation_and_not_the_robust_one(scatter):
    calm = normal(0.03, 401, seed=3)

    assert scatter.sd([*calm, 0.9]) > 1.5 * scatter.sd(calm)
    assert scatter.robust_sd([*calm, 0.9]) == pytest.approx(scatter.robust_sd(calm), rel=0.02)


def test_what_both_halves_of_a_block_share_is_the_luck_of_its_processes(scatter):
    sets, noise = normal(0.02, 500, seed=4), normal(0.03, 1000, seed=5)
    halves = [(luck + noise[2 * n], luck + noise[2 * n + 1]) for n, luck in enumerate(sets)]

    assert scatter.luck(halves) == pytest.approx(0.02, rel=0.15)
    assert scatter.luck([(0.1, -0.1), (-0.2, 0.1)]) == 0


@pytest.mark.parametrize(
    ("hits", "low", "high"), [(0, 0.0, 0.1684), (1, 0.0013, 0.2487), (18, 0.6830, 0.9877), (20, 0.8316, 1.0)]
)
def test_a_share_of_20_has_the_interval_of_clopper_and_pearson(scatter, hits, low, high):
    """As published in tables of exact limits."""
    found = scatter.share(hits, 20)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_a_neighbour_is_busy_for_a_third_of_the_time_in_bursts_of_every_length():
    module = load("neighbour")
    found = list(itertools.islice(module.bursts(seed=1), 2000))
    busy_s, idle_s = (sum(times) for times in zip(*found, strict=True))
    lengths = [burst_s for burst_s, _ in found]

    assert busy_s / (busy_s + idle_s) == pytest.approx(1 / 3, abs=0.02)
    assert 0.2 <= min(lengths) < 0.3 and 15 < max(lengths) <= 20
    assert found[:9] == list(itertools.islice(module.bursts(seed=1), 9))


def test_a_part_that_is_measured_anew_leaves_the_others(tmp_path):
    document, path = load("document"), tmp_path / "benchmarks.md"
    first = [document.section(name, "Monday.", [f"| {name} | 1 | | |"]) for name in ("one", "old", "three")]
    document.put(path, "# Title\n", first, ["one", "two", "three"])
    again = [document.section(name, "Tuesday.", [f"| {name} | 2 | | |"]) for name in ("two", "three")]
    document.put(path, "# New title\n", again, ["one", "two", "three"])
    lines = path.read_text().splitlines()

    assert lines[0] == "# New title"
    assert [line for line in lines if line.startswith("## ")] == ["## one", "## old", "## two", "## three"]
    assert [line for line in lines if line.startswith("| ")][1::2] == [
        f"| {name} | {value} | | |" for name, value in (("one", 1), ("old", 1), ("two", 2), ("three", 2))
    ]


def run_of(block, *round_s, **values):
    trial = Trial(
        framework="torch", model="cnn10", layout="channels_last", batch_size=2, images_per_epoch=4, epochs=3
    )
    turns = tuple(Turn(round=n, place=0, start_s=n, epoch_s=(s, s)) for n, s in enumerate(round_s))
    epochs = {"epoch_s": (9.0, *round_s), "images_per_epoch": 4, "stages_s": {"train": 20.0}}
    epochs |= {"turns": turns, "group": 0, **values}
    return Run(session="s", study="bench", trial=trial, block=block, **epochs)


def test_the_rows_on_scatter_tell_the_way_that_scatters_less(rows):
    """One after the other one arm is by turns 20 % slower and faster, in turns by 2 %."""

    def blocks(factor, **values):
        ratios = [factor if block % 2 else 1 / factor for block in range(20)]
        one_s = [[ratio] * 4 for ratio in ratios]
        return [(run_of(n, *s, **values), run_of(n, *[1.0] * 4, **values)) for n, s in enumerate(one_s)]

    found = rows.of_scatter("torch", blocks(1.2, turns=(), group=None), blocks(1.02))

    assert [line.split(" | ")[1] for line in found[:2]] == [
        "9.21 (9.21 to 9.21): 0.1823 / 0.0198",
        "9.21 (9.21 to 9.21): 0.2703 / 0.0294",
    ]
    assert [line.split(" | ")[-1] for line in found[:2]] == ["yes |"] * 2
    assert found[2].split(" | ")[1] == "0.0198 of 0.0198"
    assert found[3].split(" | ")[1] == "40.0 / 40.0, 20 blocks each"


@pytest.mark.parametrize(("missed", "met"), [(1, "yes |"), (3, "NO |")])
def test_planted_effects_are_counted(rows, missed, met):
    same = judge([1.0] * 6, [1.0, 1.01, 1.02, 0.99, 0.98, 1.0])
    more = judge([1.0] * 6, [1.08] * 6)
    wrong = judge([1.08] * 6, [1.0] * 6)
    found = [(same, more)] * (20 - missed) + [(wrong, same)] * missed
    slower, changed, width, _ = rows.of_planted("torch", found, more, 1.08)

    assert slower.split(" | ")[1].startswith(f"{20 - missed} of 20 (") and slower.endswith(met)
    assert changed.split(" | ")[1].startswith(f"{missed} of 20 (") and changed.endswith(met)
    assert width.split(" | ")[1] == "2.0%, largest 2.0%"


def test_an_arm_that_is_slower_in_turns_does_not_pass(rows):
    def blocks(in_turns_s):
        alone = run_of(0, 1.0, turns=(), group=None)
        return [(alone, alone, run_of(0, *[in_turns_s] * 4), run_of(0, *[in_turns_s] * 4))] * 6

    found = [rows.of_alone("torch", blocks(seconds))[0] for seconds in (1.01, 1.05)]
    assert [line.split(" | ")[-1] for line in found] == ["yes |", "NO |"]


def test_what_waiting_arms_use_is_weighted_by_how_long_they_waited(rows):
    calm = [run_of(n, 1.0, waiting_cores=0.001, waiting_gpu=0.0, stages_s={"wait": 9.0}) for n in range(9)]
    busy = run_of(9, 1.0, waiting_cores=0.02, waiting_gpu=0.9, stages_s={"wait": 1.0})
    cores, gpu = rows.of_waiting([*calm, busy])
    assert "0.123% (" in cores and "at most 2.00%" in cores and "1.098% (" in gpu and "of 10 runs" in gpu
    assert "not known: why | | |" in rows.of_waiting([run_of(0, 1.0, no_waiting_gpu="why")])[0]
    assert rows.of_waiting([run_of(0, 1.0)]) == []
