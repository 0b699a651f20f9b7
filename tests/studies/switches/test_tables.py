"""The tables of the switches, by their cells."""

from dataclasses import replace

import pytest

from search_findings import BF16, COMPILED, FUSED, LAST, feasible, nothing_yet, speedup, whole
from study_data import make_run, make_trial
from trainspeed.core.run import Role, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.verdict import Outcome
from trainspeed.search.candidates import Candidates, candidates
from trainspeed.search.findings import Effect, Stage, Unmeasured
from trainspeed.search.switch import Switch, combined, plain_trial
from trainspeed.search.unmeasured import unmeasured_sentences, unmeasured_stages
from trainspeed.show.tables import failures_table
from trainspeed.studies.switches import charts, tables
from trainspeed.studies.switches.lists import list_sentences
from trainspeed.studies.switches.views import effect_rows


def cells(styler, column):
    return list(styler.data[column])


def test_leaving_one_out_begins_with_the_largest_loss():
    table = tables.leave_one_out_table([whole()])

    assert cells(table, "without") == ["channels_last", "bf16", "fused optimizer"]
    assert cells(table, "a step then takes") == ["+35.3 %", "+20.2 %", "+3.2 %"]
    assert cells(table, "interval")[0] == "+35.1 to +35.5 %"


def test_a_switch_that_was_not_seen_in_effect_says_so_beside_how_that_was_looked_up():
    table = tables.in_effect_table([whole()]).data.set_index("asked for")

    assert list(table.loc["huge pages: on"]) == ["—", "<b>no</b> `*pages*`", "asked for, not in effect"]
    assert table.loc["optimizer: fused", "seen"] == "fused"


def test_fewer_workers_than_asked_for_have_a_row_of_their_own():
    """The loader was "not in effect" beside a row that has its pipeline as it was asked for."""
    fields = (("pipeline", "processes"), ("workers", 2), ("queue", 10))
    loader = Switch(lever="pipeline", value="2 processes", fields=fields)
    seen = {"pipeline": ("processes", "alive"), "workers": ("1", "alive")}
    few = feasible(loader, effect=Effect.UNSEEN, seen=seen)

    table = tables.in_effect_table([whole(feasible=(few,), slow_ways=())]).data.set_index("asked for")

    assert list(table["seen"]) == ["processes", "1"] and table.index[1] == "workers: 2"


def test_what_is_of_a_ledger_is_escaped_in_the_page():
    assert "<b>no" not in tables.in_effect_table([whole()]).to_html()


def test_a_switch_that_failed_has_its_reason():
    broken = feasible(
        COMPILED, effect=Effect.FAILED, status=Status.UNSUPPORTED, reason="no compiler", seen={}
    )

    table = tables.in_effect_table([whole(feasible=(broken,))])

    assert cells(table, "in effect?")[0] == "not measured here: no compiler"
    assert cells(table, "how")[0] == "—", "it did not run, so nothing was seen of it"


def test_what_is_on_already_costs_what_losing_it_costs_and_nothing_where_it_was_not_in_effect():
    found = whole()
    lost = replace(found.slow_ways[0], effect=Effect.UNKNOWN)

    assert cells(tables.already_on_table([found]), "a step then takes") == ["+24.8 %"]
    assert cells(tables.already_on_table([whole(slow_ways=(lost,))]), "a step then takes") == ["—"]


def test_what_levers_leave_out_is_listed_by_its_name_and_what_it_is():
    """`levers` takes names, and a page that shows words alone leaves a reader to guess them."""
    start = plain_trial("torch", "cnn10", batch_size=16, images_per_epoch=64, epochs=3, image_size=16)
    found = whole(candidates=candidates(start, "cpu", names=["layout"]))
    rows = {row["name"]: row for row in tables.aside_table([found]).data.to_dict("records")}

    assert rows["optimizer"] == {"lever": "optimizer", "class": "=", "it is": "off", "name": "optimizer"}
    kinds = {name: rows[name]["it is"] for name in ("set_to_none", "malloc_thresholds", "anomaly_mode")}
    assert kinds == {
        "set_to_none": "already on",
        "malloc_thresholds": "Trainspeed's own",
        "anomaly_mode": "a brake",
    }
    assert "layout" not in rows and len(rows) == len({one.lever for one in found.candidates.aside})
    assert tables.aside_table([whole()]) is None
    (said,) = (s for s in list_sentences([found]) if "leaves it out" in s)
    assert said == (
        f"PyTorch, cnn10, here as well, but `levers` leaves it out: {len(rows)} levers, listed below."
    )


def test_what_trainspeed_alone_has_is_not_said_to_be_on_already():
    (slow,) = whole().slow_ways
    kinds = [
        ("already_on", "on in a plain script, off here", charts.ALREADY_ON),
        ("own", "Trainspeed's own", charts.OWN),
        ("brakes", "a brake", charts.BRAKE),
    ]
    for kind, said, drawn in kinds:
        found = whole(candidates=Candidates(**{kind: (slow.switch,)}))
        assert cells(tables.already_on_table([found]), "it is") == [said]
        assert effect_rows([found])["kind"].iloc[-1] == drawn
    assert "Trainspeed's own" in tables.already_on_table([found]).caption
    (stage,) = unmeasured_stages([whole(left_out=(Unmeasured(stage=Stage.SLOW_WAYS, had=1, planned=4),))])
    assert "Trainspeed's own" in unmeasured_sentences([stage])[0]


def test_a_reader_of_what_was_not_left_out_is_told_that_the_claim_rests_on_all_its_blocks():
    parts, blocks = (Unmeasured(stage=stage, had=0, planned=18) for stage in (Stage.LEAVE_OUT, Stage.CONFIRM))
    (whole_claim,) = unmeasured_sentences(unmeasured_stages([whole(left_out=(parts,))]))
    assert whole_claim == (
        "PyTorch, cnn10: incomplete: leaving out what was kept, one by one, in fresh blocks: none of 18 runs (those of "
        "plain against all together are complete)."
    )
    (short,) = unmeasured_sentences(unmeasured_stages([whole(left_out=(blocks, parts))]))
    assert "complete)" not in short and "none of the first 18 runs, 2 in each block; leaving out" in short


def test_several_searches_have_a_column_that_tells_them_apart():
    both = [whole(), whole(make_trial(model="cnn_keras"))]

    assert cells(tables.not_here_table(both), "where") == ["PyTorch, cnn10", "PyTorch, cnn_keras"]
    assert "where" not in tables.not_here_table(both[:1]).data


def test_what_a_switch_took_stands_beside_the_plain_setting_that_it_was_measured_with():
    """The one of the fresh blocks was measured at another time: 4 s and then 0.4 s, here 2 s and then 1 s."""
    found = whole()
    runs = [replace(make_run(trial=found.start, label=Role.RECIPE), epoch_s=(4.0, 0.4, 0.4))]
    table = tables.time_and_memory_table([found], runs).data.set_index("setting")

    assert table.loc["plain", "later epochs s"] == "0.400"
    assert table.loc["channels_last =", "later epochs s"].endswith(" (plain beside it: 1.00)")
    assert table.loc["channels_last =", "first epoch s"].endswith(" (plain beside it: 2.00)")


def test_a_longer_first_epoch_pays_after_as_many_epochs_as_it_takes_to_save_it():
    """Plain 3 s and then 1 s; all together 5 s and then 0.5 s: 2 s more, 0.5 s saved an epoch."""
    found = whole()
    best = combined(found.start, (LAST, BF16, FUSED))
    runs = [make_run(1.0, trial=found.start, label=Role.RECIPE, block=block) for block in range(9)]
    runs += [
        replace(
            make_run(trial=best, label=Role.RECIPE, block=block),
            epoch_s=(5.0, 0.5, 0.5),
            peak_memory_bytes=4_000_000_000,
        )
        for block in range(9)
    ]

    row = tables.time_and_memory_table([found], runs).data.set_index("setting").loc["all together"]

    assert row["pays after"] == "4 epochs"
    assert row["peak memory"] == "4.00 GB"


def test_first_epochs_are_compared_of_the_blocks_in_which_both_have_one():
    """Where runs were built side by side they have none: here the plain ones of all blocks but one."""
    found = whole()
    best = combined(found.start, (LAST, BF16, FUSED))

    def row(plain_alone_in, best_alone_in):
        runs = [
            replace(
                make_run(trial=trial, label=Role.RECIPE, block=block),
                epoch_s=(first_s, *[later_s] * 2),
                built_beside=0 if block in alone_in else 1,
            )
            for trial, firsts_s, later_s, alone_in in (
                (found.start, (3.0, 4.0, 5.0), 1.0, plain_alone_in),
                (best, (5.0, 6.0, 7.75), 0.5, best_alone_in),
            )
            for block, first_s in enumerate(firsts_s)
        ]
        return tables.time_and_memory_table([found], runs).data.set_index("setting").loc["all together"]

    assert list(row({1}, {0, 1, 2})[["first epoch s", "pays after"]]) == [
        "6.00",
        "about 4 epochs, by the first epochs of 1 block",
    ]
    assert row({0, 2}, {0, 1, 2})["pays after"] == "4 to 6 epochs, by the first epochs of 2 blocks"
    assert list(row({1}, {0, 2})[["first epoch s", "pays after"]]) == ["6.38", "—"]


def test_each_row_of_the_costs_says_in_which_blocks_it_was_measured():
    found = whole()
    best = combined(found.start, (LAST, BF16, FUSED))
    runs = [
        make_run(trial=trial, label=Role.RECIPE, block=b) for trial in (found.start, best) for b in range(9)
    ]
    measured_in = tables.time_and_memory_table([found], runs).data.set_index("setting")["measured in"]
    assert measured_in[["plain", "all together"]].tolist() == ["9 fresh blocks"] * 2
    assert measured_in["channels_last ="] == "1 block of its own"


def test_a_single_switch_that_was_kept_is_one_row_that_of_the_fresh_blocks():
    """Its row of one block said "no saving shown", and "all together", the same setting, "at once"."""
    confirmed = replace(whole().confirmation, on=(BF16,))
    found = replace(whole(), kept=(BF16,), feasible=(feasible(BF16),), confirmation=confirmed)
    best = combined(found.start, (BF16,))
    runs = [
        make_run(trial=trial, label=Role.RECIPE, block=b) for trial in (found.start, best) for b in range(9)
    ]
    table = tables.time_and_memory_table([found], runs).data

    assert [*zip(table["setting"], table["measured in"], strict=True)] == [
        ("plain", "9 fresh blocks"),
        ("bf16 ≈", "9 fresh blocks"),
    ]


@pytest.mark.parametrize(
    ("size", "blocks", "pays"),
    [
        (2.0, 9, "2 epochs"),
        (1.75, 9, "3 epochs"),  # after 2.33 it is even, after 2 it is behind
        (2.0, 1, "undecided (1 block)"),
        (1.005, 9, "no saving shown"),  # within the margin
        (0.9, 9, "never: no time is saved"),
    ],
)
def test_epochs_until_it_pays_are_told_only_of_what_was_shown_to_save_time(size, blocks, pays):
    """Plain 2 s and then 1 s; alone 3 s and then 0.5 s, or what the size says."""
    alone = feasible(LAST, size, alone=speedup(size, blocks))
    table = tables.time_and_memory_table([replace(whole(), feasible=(alone,))], []).data.set_index("setting")

    assert table.loc["channels_last =", "pays after"] == pays


def test_what_is_undecided_pays_after_no_number_of_epochs():
    """Its interval began just above 1, and the page said "at once"."""
    unsure = replace(speedup(1.04, 9), low=1.003, high=1.37, outcome=Outcome.UNDECIDED)
    found = replace(whole(), feasible=(feasible(LAST, 1.04, alone=unsure),))
    table = tables.time_and_memory_table([found], []).data.set_index("setting")
    assert table.loc["channels_last =", "pays after"] == "no saving shown"


@pytest.mark.parametrize("name", ["already_on", "leave_one_out", "accuracy"])
def test_a_search_of_which_nothing_was_measured_has_no_such_table(name):
    assert getattr(tables, f"{name}_table")([nothing_yet()]) is None
    assert getattr(tables, f"{name}_table")([whole()]) is not None


def test_what_was_asked_for_and_not_measured_yet_says_so():
    assert "in effect?: not measured yet" in tables.in_effect_table([nothing_yet()]).caption


def test_where_all_took_effect_that_is_said_once():
    table = tables.in_effect_table([whole(feasible=(feasible(FUSED),), slow_ways=())])
    assert table.caption == "All took effect" and "in effect?" not in table.data


def test_a_run_that_failed_with_a_lever_is_a_row_that_names_it():
    runs = RunSet((make_run(), make_run(status=Status.CRASHED, levers=(("optimizer", "fused"),))))

    (what,) = cells(failures_table(runs.frame), "what")
    assert what.endswith("fused optimizer")


def test_accuracy_is_told_of_the_set_that_was_measured_not_of_one_class_in_it():
    table = tables.accuracy_table([whole()])

    assert cells(table, "switches, together") == ["channels_last, fused optimizer, bf16"]
    assert cells(table, "class") == ["same numbers =, other rounding ≈"]
    assert cells(table, "accuracy is") == ["the same within 0.5 points"]
