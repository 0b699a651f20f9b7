"""Sums of gradients on links of every kind: what a link cannot carry, and what it should, is found."""

from __future__ import annotations

import pytest

from study_data import make_run
from trainspeed.core.run import Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_exchange import PLAUSIBLE_PER_S, bytes_per_s, is_plausible
from trainspeed.judge.checks import CheckOutcome

NVLINK, PCIE = {"kind": "nvlink", "count": 18}, {"kind": "pcie", "count": None}
PARAMETERS = 10_000_000  # 40 MB


def summed(rate, *, link=NVLINK, device="gpu", devices=2, **more):
    """Return a run that summed its gradients with so many bytes per second."""
    trial = {
        "part": "exchange",
        "strategy": "ddp",
        "devices": devices,
        "images_per_epoch": 8,
        "batch_size": 8,
    }
    seconds = 4 * PARAMETERS * 2 * (devices - 1) / devices / rate if rate else 1.0
    machine = {"device": device, "link": link}
    return make_run(seconds, machine=machine, **{"parameters": PARAMETERS, **trial, **more})


def judged(run):
    (check,) = is_plausible(RunSet((run, make_run())))
    return check


def test_a_ring_sends_each_byte_so_often():
    assert bytes_per_s(summed(1e9)) == pytest.approx(1e9)
    assert bytes_per_s(summed(1e9, devices=8)) == pytest.approx(1e9)


@pytest.mark.parametrize(
    ("rate", "link", "outcome"),
    [
        (200e9, NVLINK, CheckOutcome.OK),
        (12e9, PCIE, CheckOutcome.OK),
        (12e9, NVLINK, CheckOutcome.NOT_OK),  # goes over PCIe
        (
            200e9,
            PCIE,
            CheckOutcome.NOT_OK,
        ),  # more than it carries: not everything is summed, or not waited for
        (2e12, NVLINK, CheckOutcome.NOT_OK),
        (0.1e9, PCIE, CheckOutcome.NOT_OK),
        (200e9, None, CheckOutcome.NOT_APPLICABLE),
        (200e9, {"kind": "carrier pigeon", "count": 1}, CheckOutcome.NOT_APPLICABLE),
    ],
)
def test_what_a_link_cannot_carry_and_what_it_should_is_found(rate, link, outcome):
    assert judged(summed(rate, link=link)).outcome is outcome


def test_cpu_cores_are_measured_and_have_no_link():
    check = judged(summed(0.9e9, link=None, device="cpu"))
    assert check.outcome is CheckOutcome.NOT_APPLICABLE and "0.9" in check.measured


def test_one_device_has_nobody_to_exchange_with():
    alone = judged(summed(0, devices=1, status=Status.UNSUPPORTED))
    assert (alone.outcome, alone.reason) == (CheckOutcome.NOT_APPLICABLE, "there is one device")


def test_an_exchange_that_fails_is_a_fault_and_one_of_unknown_size_is_none():
    assert judged(summed(0, status=Status.CRASHED)).outcome is CheckOutcome.NOT_OK
    assert judged(summed(1e9, parameters=None)).outcome is CheckOutcome.NOT_APPLICABLE


def test_every_band_has_a_width():
    assert all(least < most for least, most in PLAUSIBLE_PER_S.values())
