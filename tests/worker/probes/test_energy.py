"""A made-up GPU that multiplies: its counter, its power and its load, and each fault of what is read."""

from __future__ import annotations

import pytest

from fake_nvml import NOT_SUPPORTED, FakeGpu, FakeNvml, install
from trainspeed.core.probe import Probe
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge import check_energy
from trainspeed.judge.check_energy import SPANS, counter_agrees, is_right_gpu, span_ratios
from trainspeed.judge.checks import CheckOutcome
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.probes import Surroundings
from trainspeed.worker.probes.energy import check_gpu, measure_energy

OK, NOT_OK, UNDECIDED, NOT_APPLICABLE = (
    CheckOutcome.OK,
    CheckOutcome.NOT_OK,
    CheckOutcome.UNDECIDED,
    CheckOutcome.NOT_APPLICABLE,
)
OWN, OTHER = "GPU-aaaa-1", "GPU-bbbb-2"
WATTS = 600.0
PRODUCT_S = 0.004


@pytest.fixture
def measured(monkeypatch, fake_clock):
    """A function that multiplies on a made-up GPU and returns the outcomes of both checks.

    Args of it: `works`, UUID of the GPU that really works; `counts`, joules by its counter for each that it uses;
    `step_s`, seconds between two steps of the counter; `others`, the load of whoever uses the second GPU; `tells`, the
    UUID that the framework tells; `loaded`, the load of a GPU that works; `answers` of the first GPU.
    """

    def measure(*, works=OWN, counts=1.0, step_s=0.1, others=lambda busy: 0, tells=OWN, loaded=97, **answers):
        begun_s = fake_clock()

        def percent(uuid):
            return loaded if uuid == works and fake_clock() > begun_s else 0

        def counter_mj():
            return int(fake_clock() / step_s) * step_s * WATTS * counts * 1000

        own = FakeGpu(
            uuid=OWN,
            nvmlDeviceGetPowerUsage=lambda: int(WATTS * 1000),
            nvmlDeviceGetTotalEnergyConsumption=lambda: int(counter_mj()),
            nvmlDeviceGetUtilizationRates=lambda: {"gpu": percent(OWN), "memory": 0},
        )
        own.answers |= answers
        second = FakeGpu(
            uuid=OTHER,
            nvmlDeviceGetUtilizationRates=lambda: {
                "gpu": max(percent(OTHER), others(fake_clock() > begun_s)),
                "memory": 0,
            },
        )
        install(monkeypatch, FakeNvml(own, second))
        where = Surroundings(backend=None, device="gpu", gpu_uuids=(OWN,))
        values = measure_energy(
            where, lambda products: fake_clock.advance(products * PRODUCT_S), tells, clock=fake_clock
        )
        trial = Probe(framework="torch", name="energy")
        runs = RunSet((Run(session="s", study="check", trial=trial, block=0, probe=values),))
        return tuple(make(runs)[0].outcome for make in (counter_agrees, is_right_gpu))

    return measure


@pytest.mark.parametrize("step_s", [0.01, 0.02, 0.1])
def test_a_counter_that_follows_the_power_is_right_however_it_steps(measured, step_s):
    assert measured(step_s=step_s) == (OK, OK)


@pytest.mark.parametrize("counts", [0.9, 1.1, 0.0], ids=["too little", "too much", "nothing"])
def test_a_counter_that_says_something_else_is_found(measured, counts):
    assert measured(counts=counts) == (NOT_OK, OK)


def test_a_counter_that_hardly_moves_decides_nothing(measured):
    assert measured(step_s=2.0) == (UNDECIDED, OK)


@pytest.mark.parametrize(
    "sensor", ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption"], ids=["power", "counter"]
)
def test_without_a_power_or_a_counter_there_is_nothing_to_compare(measured, sensor):
    assert measured(**{sensor: NOT_SUPPORTED}) == (NOT_APPLICABLE, OK)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"works": OTHER}, NOT_OK),
        ({"works": OTHER, "tells": None}, NOT_OK),
        ({"tells": OTHER}, NOT_OK),
        ({"tells": None}, OK),
        ({"tells": None, "loaded": 41}, UNDECIDED),
        ({"tells": None, "loaded": 41, "works": OTHER}, NOT_OK),
        ({"tells": None, "others": lambda busy: 90 if busy else 0}, UNDECIDED),
        ({"tells": None, "others": lambda busy: 90}, OK),  # it has been busy all the time
        ({"tells": OWN, "others": lambda busy: 90 if busy else 0}, OK),
        ({"nvmlDeviceGetUtilizationRates": NOT_SUPPORTED}, OK),
        ({"nvmlDeviceGetUtilizationRates": NOT_SUPPORTED, "tells": None}, NOT_APPLICABLE),
    ],
    ids=[
        "another works",
        "another works and the framework tells nothing",
        "another UUID",
        "by the load alone",
        "by a small load alone",
        "another works a little",
        "another began to work, too",
        "another has long worked",
        "the UUID is enough",
        "no load",
        "neither",
    ],
)
def test_the_gpu_that_is_read_is_the_one_that_works(measured, found, expected):
    assert measured(**found)[1] is expected


def test_spans_begin_and_end_with_steps_of_the_counter():
    moments = [0.02 * number for number in range(300)]
    joules = [100.0 * int(moment / 0.1 + 1e-9) * 0.1 for moment in moments]
    ratios = span_ratios(moments, [100.0] * 300, joules)
    assert len(ratios) == SPANS and ratios == pytest.approx([1.0] * SPANS)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_one_span_that_is_out_of_line_decides_nothing(monkeypatch, factor):
    monkeypatch.setattr(check_energy, "span_ratios", lambda *_: [1.0] * (SPANS - 1) + [factor])
    values = {"sample_s": (0.0,), "power_w": (WATTS,), "energy_j": (0.0,)}
    trial = Probe(framework="torch", name="energy")
    runs = RunSet((Run(session="s", study="check", trial=trial, block=0, probe=values),))
    assert counter_agrees(runs)[0].outcome is OK


@pytest.mark.parametrize(("product_s", "queued"), [(0.0, 32), (0.0005, 20), (0.004, 2), (0.03, 1)])
def test_short_products_are_waited_for_together_so_that_the_gpu_stays_busy(
    monkeypatch, fake_clock, product_s, queued
):
    install(monkeypatch, FakeNvml(FakeGpu(uuid=OWN)))
    asked: list[int] = []

    def multiply(products):
        asked.append(products)
        fake_clock.advance(products * product_s or 0.1 * (len(asked) > 2))

    where = Surroundings(backend=None, device="gpu", gpu_uuids=(OWN,))
    measure_energy(where, multiply, OWN, clock=fake_clock)
    assert asked[:2] == [1, 1] and {*asked[2:]} == {queued}


def test_a_mig_instance_is_no_other_gpu_and_has_no_power_of_its_own(monkeypatch, fake_clock):
    install(monkeypatch, FakeNvml(FakeGpu(uuid=OWN)))
    where = Surroundings(backend=None, device="gpu", gpu_uuids=("MIG-cccc-3",))
    values = measure_energy(
        where, lambda products: fake_clock.advance(products * PRODUCT_S), OWN, clock=fake_clock
    )
    assert values["same_uuid"] is values["power_w"] is values["load_during_percent"] is None


def test_a_cpu_has_nothing_to_measure():
    with pytest.raises(Unsupported, match="no GPU"):
        check_gpu(Surroundings(backend=None, device="cpu"))
