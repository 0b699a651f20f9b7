"""The environment variables that change how fast frameworks train, as a user has set them."""

import pytest

from trainspeed.core.variables import speed_variables


def test_those_that_bear_on_times_are_named_in_order_and_no_others():
    own = {"TF_ENABLE_ONEDNN_OPTS": "0", "OMP_NUM_THREADS": "4", "HOME": "/home/jo", "AWS_SECRET": "x"}
    assert [*speed_variables(own).items()] == [("OMP_NUM_THREADS", "4"), ("TF_ENABLE_ONEDNN_OPTS", "0")]


def test_those_of_levers_of_all_kinds_are_among_them():
    own = dict.fromkeys(
        ("KMP_AFFINITY", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES", "NPROC", "XLA_FLAGS"), "1"
    )
    assert speed_variables(own) == own


def test_an_empty_one_is_not_set():
    assert speed_variables({"OMP_NUM_THREADS": ""}) == {}


def test_a_threshold_of_malloc_that_is_set_to_nothing_takes_trainspeeds_own_away():
    assert speed_variables({"MALLOC_TRIM_THRESHOLD_": ""}) == {"MALLOC_TRIM_THRESHOLD_": ""}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("/home/jo/lib/libjemalloc.so.2:/opt/x.so", "libjemalloc.so.2:x.so"),
        ("--xla_dump_to=/home/jo --xla_a=1", "--xla_dump_to=… --xla_a=1"),
        ("/home/John Smith/lib/libx.so", "… libx.so"),
        ("--f=/home/a,jo/x", "--f=…,…"),
        ("~jo ~/lib/x.so", "… x.so"),
        ("close,granularity=fine", "close,granularity=fine"),
    ],
)
def test_of_paths_the_libraries_are_left_as_folders_may_name_a_user(value, told):
    assert speed_variables({"XLA_FLAGS": value}) == {"XLA_FLAGS": told}


def test_values_are_text_that_any_file_can_hold_and_that_is_the_same_when_read_again():
    own = {"LD_PRELOAD": "a\udcfcb.so\x1b[1m", "XLA_FLAGS": "-a " * 5000, "TF_XLA_FLAGS": "-a " * 5001}
    told = speed_variables(own)
    assert told["LD_PRELOAD"] == "a?b.so?[1m"
    assert len(told["XLA_FLAGS"]) < 300 and told["XLA_FLAGS"] != told["TF_XLA_FLAGS"]
