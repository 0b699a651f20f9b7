"""Which side is fastest and which is cheapest, in sentences."""

from dataclasses import replace

import pytest

from sides_data import blocks, jobs_of
from trainspeed.core.run import Status
from trainspeed.studies.across import facts
from trainspeed.studies.across.answers import (
    answer_blocks,
    best_in_words,
    price_sentences,
    undecided_side_sentences,
)

SIZES = (16, 32, 64)


def said(sides, **usd_per_hour):
    return answer_blocks(jobs_of(sides, **usd_per_hour))


def sizes(*seconds):
    """Return runs of as many jobs, a size of images each."""
    return [run for size, s in zip(SIZES, seconds, strict=True) for run in blocks(s, image_size=size)]


def test_of_one_job_the_best_is_told_with_its_interval():
    sides = {"a10g": blocks(1.0), "h100": blocks(0.5)}
    assert said(sides, a10g=3.6, h100=3.6) == [
        "Fastest for cnn10 on digits, 16 px, 128 images an epoch: **h100**, 255 images per second, 2.00x a10g (95 % "
        "interval 1.99 to 2.01).",
        "Cheapest for cnn10 on digits, 16 px, 128 images an epoch: **h100**, 255,362 images per dollar, 2.00x a10g "
        "(95 % interval 1.99 to 2.01).",
    ]


def test_of_several_jobs_the_sides_are_counted_and_the_sure_come_first():
    sides = {"a": sizes(1.0, 1.0, 1.0), "b": sizes(0.5, 0.25, 1.0)}
    assert said(sides, a=1.0, b=1.0)[0] == (
        "Fastest (images per second): **b** in 2 of 3 jobs (2.00x to 4.00x a); one of a and b in 1 of 3 jobs."
    )


def test_the_same_sides_that_are_not_told_apart_are_one_group_whichever_is_ahead():
    assert said({"a": sizes(1.0, 1.001, 1.0), "b": sizes(1.001, 1.0, 1.0)}) == [
        "Fastest (images per second): one of a and b in all 3 jobs."
    ]


def test_the_winner_of_all_jobs_is_said_so():
    sides = {"a": sizes(1.0, 1.0, 1.0), "b": sizes(0.5, 0.25, 0.5)}
    assert said(sides, a=1.0, b=9.0)[1] == "Cheapest (images per dollar): **a** in all 3 jobs."


def test_too_few_blocks_leave_a_job_undecided():
    few = [run for size in SIZES for run in blocks(1.0, count=1, image_size=size)]
    (fastest,) = said({"a": few, "b": few})
    assert fastest == (
        "Fastest (images per second): undecided in all 3 jobs: fewer than two sides have 6 blocks."
    )


def test_a_side_with_too_few_blocks_is_left_out_of_the_answer_and_named():
    sides = {"a": blocks(1.0), "b": blocks(0.5), "c": blocks(0.1, count=2)}
    assert undecided_side_sentences(jobs_of(sides), dict.fromkeys(sides, 1.0), sides) == [
        "c has fewer than 6 blocks in 1 job: nothing is decided about it there."
    ]


def test_the_first_side_is_told_with_the_next_one():
    (job,) = jobs_of({"a": blocks(1.0), "b": blocks(2.0)})
    assert best_in_words(job.fastest) == (
        "**a**, 128 images per second; next is b with 0.500x that (95 % interval 0.499 to 0.501)"
    )


def test_a_side_with_too_few_blocks_is_neither_the_next_one_nor_the_size_of_the_best():
    lucky = [run for size in SIZES for run in blocks(0.1, count=2, image_size=size)]
    (job,) = jobs_of({"a": blocks(1.0), "b": blocks(2.0), "c": blocks(0.1, count=2)})

    assert "next is b with 0.500x that" in best_in_words(job.fastest)
    sides = {"a": sizes(1.0, 1.0, 1.0), "b": sizes(0.5, 0.5, 0.5), "c": lucky}
    assert said(sides)[0] == "Fastest (images per second): **b** in all 3 jobs (2.00x to 2.00x a)."


def test_of_sides_that_are_alike_neither_is_called_fastest_nor_the_same_machine():
    """That they are one machine is not known: another GPU of the kind has other times."""
    gpu = {"name": "NVIDIA A10G", "memory_bytes": 24 * 10**9}
    machines = ({"device": "gpu", "gpus": [{**gpu, "uuid": uuid}]} for uuid in "12")
    sides = {"a": blocks(1.0, machine=next(machines)), "b": blocks(1.8, machine=next(machines))}
    (job,) = jobs_of(sides, kind_of=facts.comparable_facts)

    assert job.fastest.best == ["a", "b"]
    assert best_in_words(job.fastest) == (
        "one of a (128 images per second) and b (70.9 images per second), which differ by no more than sessions on "
        "machines that are alike: 1.80x"
    )
    assert jobs_of(sides)[0].fastest.best == ["a"]


def test_of_several_jobs_it_is_said_how_far_machines_that_are_alike_are_apart():
    found = jobs_of({"a": sizes(1.0, 1.0, 1.0), "b": sizes(1.8, 1.5, 1.0)}, kind_of=facts.comparable_facts)

    assert (
        "In 2 of 3 jobs the best sides differ by no more than sessions on machines that are alike, up to 1.80x, so "
        "none of them is called fastest."
    ) in answer_blocks(found)


def test_sides_that_are_not_told_apart_are_one_of():
    (job,) = jobs_of({"a": blocks(1.0), "b": blocks(1.0)})
    assert best_in_words(job.fastest) == (
        "one of a (128 images per second) and b (128 images per second), whose intervals overlap or which are the "
        "same within 2 %"
    )


def test_without_a_training_that_two_sides_have_there_is_no_answer():
    pieces = blocks(1.0, part="compute")
    assert said({"a": pieces, "b": pieces}) == [
        "No model was trained by two sides or more, so there is no job to name the best side for."
    ]


@pytest.mark.parametrize(
    ("prices", "begins", "example"),
    [
        ({"a": None, "b": None}, "No price is given:", 'USD="2.5 1.2"'),
        ({"a": 1.5, "b": None}, "No price is given for b:", 'USD="1.5 2.5"'),
        (dict.fromkeys("abc"), "No price is given:", 'USD="2.5 1.2 …"'),
        ({**dict.fromkeys("abcde"), "f": 1.0}, "No price is given for 5 sides:", 'USD="2.5 1.2 …"'),
    ],
)
def test_a_missing_price_is_told_with_what_it_would_add(prices, begins, example):
    (sentence,) = price_sentences(prices)
    assert sentence.startswith(f"{begins} {example}, the price of an hour of each side")
    assert price_sentences({"a": 1.0, "b": 2.0}) == []


@pytest.mark.parametrize(
    ("node", "where"), [(None, "USD="), ("a10g-1", "usd_per_hour of each machine in fleet.yaml")]
)
def test_prices_of_a_fleet_are_given_in_its_file(node, where):
    sides = {side: [replace(run, node=node) for run in blocks(1.0)] for side in "ab"}
    sentence = undecided_side_sentences(jobs_of(sides), dict.fromkeys(sides), sides)[-1]
    assert sentence.startswith(f"No price is given: {where}") and 'USD="2.5 1.2"' in sentence


def test_a_side_that_trained_what_no_other_did_is_named_after_the_answer():
    jobs = jobs_of({"a10g": blocks(1.0), "h100": blocks(0.5)})

    *_, last = answer_blocks(jobs, ["a10g", "h100", "phone"])
    assert last == "phone is not compared: no other side has a result of the same model on the same images."
    *_, last = answer_blocks(jobs, ["a10g", "h100", "phone", "watch"])
    assert (
        last
        == "phone and watch are not compared: no other side has a result of the same model on the same images."
    )
    assert answer_blocks(jobs, ["a10g", "h100"]) == answer_blocks(jobs)
    assert len(answer_blocks([], ["phone"])) == 1


def test_a_side_none_of_whose_runs_gave_a_result_is_named_with_the_reason():
    def crashed(**more):
        return blocks(1.0, status=Status.CRASHED, **more)

    sides = {"a10g": blocks(1.0), "h100": crashed()}
    no_best, failed = answer_blocks(jobs_of(sides), list(sides))
    assert no_best == "No model has a result of two sides or more, so there is no best side to name."
    assert failed == (
        "h100 is not compared: no run of what others trained, too, gave a result (crashed; see [failures](#failures))."
    )

    several = {"a": sizes(1.0, 1.0, 1.0), "b": sizes(0.5, 0.5, 0.5), "c_1": crashed(image_size=16)}
    *_, last = answer_blocks(jobs_of(several), list(several))
    assert last.startswith(
        r"c\_1 is not compared: no run of what others trained, too, gave a result (crashed;"
    )
    partly = {**several, "c_1": [*crashed(image_size=16), *blocks(2.0, image_size=32)]}
    assert len(answer_blocks(jobs_of(partly), list(partly))) == 1
