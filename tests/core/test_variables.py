"""The environment variables that change how fast frameworks train, as a user has set them."""

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


def test_folders_are_left_out_as_they_may_name_a_user():
    own = {
        "LD_PRELOAD": "/home/jo/lib/libjemalloc.so.2:/opt/x.so",
        "XLA_FLAGS": "--xla_dump_to=/home/jo/dump --xla_a=1",
    }
    assert speed_variables(own) == {
        "LD_PRELOAD": "libjemalloc.so.2:x.so",
        "XLA_FLAGS": "--xla_dump_to=dump --xla_a=1",
    }
