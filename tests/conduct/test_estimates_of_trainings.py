"""How much memory and time the trainings of a plan take, roughly."""

import contextlib
from dataclasses import replace
from statistics import median

import pytest

from study_data import make_run, make_trial
from trainspeed.conduct.estimates import check_memory, estimates_s, run_s
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.plan import Planned, TrialSet
from trainspeed.conduct.schedule import schedule
from trainspeed.conduct.turns import FEW_ROUNDS, ROUNDS, TURN_S
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.probe import Probe
from trainspeed.core.programs import SHARE
from trainspeed.core.run import Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS, Trial

MEASURED = ROOT / "data/measured"

# How much memory it takes.


def test_images_that_would_not_fit_into_memory_are_refused_with_how_much_they_need():
    plan = schedule(
        [TrialSet(trials=(make_trial(images_per_epoch=10**9, dataset="digits"),), blocks=2)], seed=0
    )

    with pytest.raises(UserError) as caught:
        check_memory(plan, 8 * 10**9)
    assert str(caught.value) == (
        "1000000000 images per epoch with an image_size of 16 need 3,072.0 GB of memory, with the data set "
        "digits, and 8.0 GB are available for a run: lower images_per_epoch or image_size."
    )


def test_the_data_set_counts_and_so_does_each_ranks_copy_of_an_epoch():
    def fits(in_bytes, **changed):
        with contextlib.suppress(UserError):
            check_memory([planned(images_per_epoch=64, **changed)], in_bytes)
            return True
        return False

    image = 16 * 16 * 3 * 4
    for fields, images in (
        ({"dataset": "digits"}, 1_797 + 64),
        ({"dataset": "cifar10"}, 60_000 + 64),
        ({"dataset": "cifar10", "folds": 5}, 1_000 + 64),
        ({"dataset": "cifar10", "strategy": "ddp", "devices": 2}, 60_000 + 2 * 64),
    ):
        assert fits(images * image, **fields) and not fits(images * image - 1, **fields)
    assert fits(0, dataset="cifar10", pipeline="resize"), "its images are resized batch by batch"


# How long it may take.


def planned(**changed):
    return Planned(block=0, label="", trial=make_trial(**changed))


def estimate_s(planned, known, device):
    (seconds,) = estimates_s([planned], known, device)
    return seconds


def test_an_estimate_is_how_long_it_took_before_in_any_block():
    known = [make_run(stages_s={"start": 1.0, "train": 3.0}), make_run(block=1, stages_s={"train": 6.0})]
    assert estimate_s(planned(seed=9), known, "cpu") == 5.0


@pytest.mark.parametrize(("device", "saved_s"), [("cpu", 20.0 * SHARE["torch"]), ("gpu", 0.0)])
def test_from_the_second_block_on_a_compiled_run_takes_less_on_a_cpu(device, saved_s):
    """By arithmetic, and by what the first block took."""
    first, second = (replace(planned(compile=True), block=block) for block in range(2))
    cold = make_run(
        compile=True,
        epoch_s=(21.0, 1.0, 1.0),
        stages_s={"train": 24.0},
        compiled_anew=True,
        machine={"device": device},
    )

    assert estimate_s(first, [], device) - estimate_s(second, [], device) == pytest.approx(saved_s)
    assert estimate_s(second, [cold], device) == pytest.approx(24.0 - saved_s)


def test_a_failed_run_and_another_trial_say_nothing_of_how_long_it_takes():
    by_arithmetic = estimate_s(planned(), [], "cpu")
    known = [
        make_run(status=Status.CRASHED, stages_s={"start": 0.01}),
        make_run(stages_s={"train": 50.0}, layout="channels_last"),
        make_run(),
    ]
    assert estimate_s(planned(), known, "cpu") == by_arithmetic


def test_data_parallel_of_torch_ends_at_once_on_a_cpu_and_is_estimated_so():
    spread = {"strategy": "data_parallel", "devices": 2, "images_per_epoch": 10**6}

    assert estimate_s(planned(**spread), [], "cpu") == estimate_s(planned(**spread, epochs=99), [], "cpu") < 1
    assert estimate_s(planned(**spread), [], "gpu") > 10
    assert estimate_s(planned(framework="jax", **spread), [], "cpu") > 10


def test_all_estimates_read_the_ledger_once():
    """With a ledger of thousands of runs, comparing each with each took minutes."""
    known = iter([make_run(stages_s={"train": 7.0})])
    assert estimates_s([planned(), planned(seed=1)], known, "cpu") == [7.0, 7.0]


def test_a_first_block_takes_as_long_as_those_that_compiled_all_anew_and_another_one_less():
    compiled = make_trial(compile=True)
    record = {"trial": compiled, "machine": {"device": "cpu"}, "epoch_s": (21.0, 1.0, 1.0, 1.0)}
    known = [make_run(stages_s={"train": 30.0}, compiled_anew=True, **record)]
    known += [
        make_run(stages_s={"train": seconds}, compiled_anew=False, **record) for seconds in (10.0, 12.0)
    ]
    plan = [Planned(block=block, label="", trial=compiled) for block in (0, 1)]

    later_s = (30.0 - 20.0 * SHARE["torch"] + 10.0 + 12.0) / 3
    assert estimates_s(plan, known, "cpu") == pytest.approx([30.0, later_s])


def test_without_a_run_before_more_work_is_estimated_to_take_longer():
    def estimate(device="cpu", **changed):
        return estimate_s(planned(**changed), [], device)

    assert 0 < estimate() < estimate(images_per_epoch=1280) < estimate(images_per_epoch=12800)
    assert estimate(epochs=3) < estimate(epochs=30)
    assert estimate(image_size=16) < estimate(image_size=32)
    assert estimate(model="wrn28_2") < estimate(model="wrn28_10")
    assert estimate("gpu", images_per_epoch=12800) < estimate("cpu", images_per_epoch=12800)
    assert all(estimate(framework=framework) > 0 for framework in FRAMEWORKS)


def test_input_alone_is_estimated_without_the_models_arithmetic():
    small, large = (estimate_s(planned(part="input", epochs=n), [], "cpu") for n in (3, 99))
    assert small == large < 1
    assert estimate_s(planned(part="compute", epochs=99), [], "cpu") > 10


def test_all_that_take_turns_train_as_many_epochs_so_beside_those_that_take_nothing_each_takes_longer():
    """The turns are planned by the mean epoch: of pipelines, those of input alone took hundredths of a second."""
    whole, alone = planned(images_per_epoch=32), planned(images_per_epoch=32, part="input")
    (two_s, _), (beside_s, _, input_s) = (
        estimates_s([whole, *others], [], "cpu", rounds=FEW_ROUNDS) for others in ([whole], [alone, alone])
    )

    epoch_s = run_s(replace(whole.trial, epochs=4), "cpu") - run_s(replace(whole.trial, epochs=3), "cpu")
    assert two_s < beside_s and beside_s - two_s == pytest.approx(2 * FEW_ROUNDS * TURN_S, abs=2 * epoch_s)
    assert input_s < 1


def test_a_run_on_a_gpu_takes_seconds_to_begin_and_compiling_many_more():
    def begun_s(device="gpu", **changed):
        return estimate_s(planned(images_per_epoch=32, epochs=3, **changed), [], device)

    assert begun_s() > 0.5 + begun_s("cpu")
    assert begun_s(compile=True) > begun_s() + 10, "Inductor, with empty caches"
    assert begun_s(part="input") > 1, "a context is made for input alone, too"
    assert begun_s(strategy="ddp", devices=8) > begun_s(strategy="ddp", devices=2) > begun_s()


def test_trainings_on_a_cpu_begin_about_as_recorded():
    """From the fork to the end of the first epoch, without what an epoch takes, of a machine with 2 cores."""
    recorded = RunSet(Ledger(MEASURED / "xeon-amx-2-cores").read()[0]).ok()
    begun_s = {}
    for run in recorded.runs:
        if isinstance(run.trial, Trial) and run.trial.phase.trains and run.later_epoch_s:
            kind = run.trial.framework, run.trial.model, run.trial.strategy
            before_s = run.stages_s["build"] + run.epoch_s[0] - median(run.later_epoch_s)
            begun_s.setdefault(kind, []).append((before_s, run.trial))

    for kind, of_kind in begun_s.items():
        seconds, trials = zip(*of_kind, strict=True)
        least_s, epoch_s = (run_s(replace(trials[0], epochs=epochs), "cpu") for epochs in (3, 4))
        estimated_s = least_s - 3 * (epoch_s - least_s)
        if "jax" not in kind:  # whose compiled programs are taken again
            assert abs(estimated_s - median(seconds)) < max(1.0, 0.4 * median(seconds)), kind
    assert len(begun_s) > 10


def test_a_probe_on_a_gpu_takes_seconds_to_begin_and_each_of_its_rounds_takes_time():
    def probe_s(name, device="gpu", framework="torch", **rounds):
        probe = Probe(framework=framework, name=name, **rounds)
        return estimate_s(Planned(block=0, label="", trial=probe), [], device)

    assert probe_s("arithmetic") > 1 + probe_s("arithmetic", "cpu")
    assert probe_s("arithmetic", framework="jax") > probe_s("arithmetic"), "XLA tries algorithms"
    assert probe_s("energy") > 7 > probe_s("energy", "cpu") == 0, "a CPU has no such meter"
    for device in ("cpu", "gpu"):
        few, many = (probe_s("epoch", device, rounds=rounds) for rounds in (9, 40))
        assert 4 < few < 15 and 2 * few < many < 5 * few
    assert probe_s("monitor") < 1, "it needs no framework"


def test_steps_of_small_batches_take_as_long_as_their_launches():
    def epoch_s(batch_size):
        long, short = (
            estimate_s(planned(batch_size=batch_size, images_per_epoch=1024, epochs=n), [], "gpu")
            for n in (13, 3)
        )
        return (long - short) / 10

    assert epoch_s(8) == pytest.approx(2 * epoch_s(16))
    assert epoch_s(512) == pytest.approx(epoch_s(1024)), "arithmetic alone"


def test_what_is_known_of_blocks_with_few_rounds_is_not_shortened_again():
    pair = [make_trial(batch_size=size, images_per_epoch=64) for size in (8, 16)]
    part = TrialSet(trials=tuple(pair), blocks=1, factors=("batch_size",))
    (group,) = groups_of([part], ["survey"], [False], seed=0)
    known = [
        make_run(stages_s={"train": seconds}, trial=one)
        for seconds, one in zip((4.0, 5.0), pair, strict=True)
    ]

    assert group.rounds < ROUNDS
    assert Pace(known, "cpu", turn_s=2.0).block_s(group) == 9.0
    few_s, many_s = (
        sum(estimates_s(group.blocks[0], [], "cpu", 2.0, rounds=rounds)) for rounds in (group.rounds, ROUNDS)
    )
    assert many_s - few_s == pytest.approx(2 * 2.0 * (ROUNDS - group.rounds), rel=0.15)
    assert Pace((), "cpu", turn_s=2.0).block_s(group) == few_s


@pytest.mark.parametrize("rounds", [ROUNDS, 2])
def test_where_one_is_fed_ahead_all_of_its_group_train_an_epoch_more_in_each_turn(rounds):
    """Epochs are so long that a turn is one, and all else is nothing beside them."""

    def group_s(*pipelines):
        fed = {"framework": "tensorflow", "images_per_epoch": 10_000_000}
        trials = tuple(make_trial(**fed, pipeline=name) for name in pipelines)
        plan = schedule([TrialSet(trials=trials, blocks=1, factors=("pipeline",))], seed=0)
        return estimates_s(plan, [], "cpu", rounds=rounds)

    usual, ahead = group_s("arrays", "generator"), group_s("arrays", "tf_data")
    assert [*ahead] == pytest.approx(
        [seconds * (2 + 2 * rounds) / (2 + rounds) for seconds in usual], rel=0.01
    )
