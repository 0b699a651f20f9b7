"""Which library is fastest at each size, from planted seconds."""

from conv2d_data import grid, make_runs
from trainspeed.studies.conv2d.by_size import by_size_sentences, by_size_title
from trainspeed.studies.conv2d.messages import sweeps_title
from trainspeed.studies.conv2d.sweep_charts import QUESTION
from trainspeed.studies.conv2d.sweeps import crossovers

GRID = grid(["torch"], ["scipy_signal", "opencv"], {"images": [1, 84, 840]}, height=100, width=100)
OPENCV_WINS = {"torch": 2.0, "scipy_signal": 4.0, "opencv": 1.0}


def runs_of(seconds, *, short=()):
    """Return runs in 6 blocks, but one of the sizes in `short`."""
    several = [t for t in GRID.trials() if t.images not in short]
    once = [t for t in GRID.trials() if t.images in short]
    return [*make_runs(several, seconds), *make_runs(once, seconds, blocks=1)]


def test_one_library_that_is_fastest_at_every_size_is_said_with_what_is_not_decided():
    runs = runs_of(lambda trial, _: OPENCV_WINS[trial.library], short=(1, 84))
    sweeps = crossovers(runs, GRID)

    assert by_size_sentences(runs, sweeps, cores=True) == [
        "OpenCV filter2D is fastest at every size tried (1, 84 and 840 images), one core against one core; at 1 and 84 "
        "by medians alone."
    ]
    assert by_size_title(runs, sweeps) == "OpenCV filter2D is fastest at 840 images"
    assert sweeps_title(sweeps, runs) == "OpenCV filter2D is fastest at 840 images"


def test_where_the_order_changes_the_sizes_are_told():
    def seconds(trial, _):
        return 0.5 if trial.library == "torch" and trial.images > 1 else OPENCV_WINS[trial.library]

    runs = runs_of(seconds)
    (said,) = by_size_sentences(runs, crossovers(runs, GRID), cores=False)

    assert said == "Fastest, by number of images: OpenCV filter2D at 1; PyTorch at 84 and 840 images."


def test_of_a_single_size_and_of_one_without_all_libraries_nothing_is_said():
    runs = [
        run
        for run in runs_of(lambda trial, _: OPENCV_WINS[trial.library])
        if run.trial.images == 840 or run.trial.library != "torch"
    ]
    sweeps = crossovers(runs, GRID)

    assert by_size_sentences(runs, sweeps, cores=False) == [] and by_size_title(runs, sweeps) == ""
    assert sweeps_title(sweeps, runs) == QUESTION


def test_another_size_has_a_sentence_where_it_has_another_fastest_library():
    """At one channel OpenCV, whatever the images; at ten of them the framework."""
    libraries = (["torch"], ["scipy_signal", "opencv"])
    several = grid(*libraries, {"images": [1, 840], "channels": [1, 10]}, images=1, height=100, width=100)

    def seconds(winner):
        return lambda trial, _: (
            0.5 if trial.channels > 1 and trial.library == winner else OPENCV_WINS[trial.library]
        )

    for winner, others in (
        ("torch", ["By number of channels: OpenCV filter2D at 1; PyTorch at 10."]),
        ("opencv", []),
    ):
        runs = make_runs(several.trials(), seconds(winner))
        first, *more = by_size_sentences(runs, crossovers(runs, several), cores=False)
        assert (
            first == "OpenCV filter2D is fastest at every size tried (1 and 840 images)." and more == others
        )
