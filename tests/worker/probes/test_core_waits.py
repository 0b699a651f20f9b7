"""For how long the threads of a process wanted a core that others had."""

from trainspeed.worker.probes.core_waits import core_waits_s


def test_it_is_summed_over_the_threads(tmp_path):
    for thread, text in {"1": "5000000000 250000000 7", "2": "1 750000000 2", "3": ""}.items():
        (tmp_path / thread).mkdir()
        (tmp_path / thread / "schedstat").write_text(text)
    assert core_waits_s(tmp_path) == 1.0


def test_where_the_system_does_not_tell_it_is_not_known(tmp_path):
    assert core_waits_s(tmp_path) is None
