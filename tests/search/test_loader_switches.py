"""Ways to make batches that a search tries, and the levers that need one of them."""

from trainspeed.search.candidates import candidates
from trainspeed.search.switch import plain_trial

FIELDS = {"batch_size": 16, "images_per_epoch": 512, "epochs": 4, "image_size": 16}
PLAIN = plain_trial("torch", "cnn10", **FIELDS)


def found(start=PLAIN):
    """Return lever -> its switches' values."""
    values = {}
    for one in candidates(start, "cpu").switches:
        values.setdefault(one.lever, []).append(one.value)
    return values


def reasons(start=PLAIN):
    """Return lever -> why it is not here."""
    return {one.lever: one.reason for one in candidates(start, "cpu").not_here}


def test_ways_to_make_batches_are_a_ladder_that_is_raced():
    augmenting = plain_trial("torch", "cnn10", **FIELDS, pipeline="generator", augment=True)
    ways = candidates(augmenting, "cpu", names=["pipeline"], cores=4).switches

    assert [one.words for one in ways][:2] == ["augmentation on the device", "processes (3 workers)"]
    assert len({one.on(augmenting) for one in ways}) == len(ways) > 2
    assert reasons()["pipeline"].startswith("the images are in memory")


def test_a_lever_of_a_loader_comes_with_the_best_rung_that_has_it():
    """Beside a plain generator: as a script that makes batches in the training's own process would gain by it."""
    plain = plain_trial("torch", "cnn10", **FIELDS, pipeline="generator", augment=True)
    own = {one.lever: one for one in candidates(plain, "cpu", cores=4).switches}

    for name, value in (("loader_order", "free"), ("loader_context", "spawn")):
        trial = own[name].on(plain)
        assert (trial.pipeline, trial.workers, dict(trial.levers)[name]) == ("processes", 3, value)
        assert own[name].needs == ("pipeline",)
    (order,) = (one for one in candidates(plain, "cpu", cores=2).switches if one.lever == "loader_order")
    assert order.on(plain).workers == 2, "one worker has one order"
    tensorflow = plain_trial("tensorflow", "cnn10", **FIELDS, pipeline="threads", workers=3, augment=True)
    (ahead,) = (
        one for one in candidates(tensorflow, "gpu", cores=4).switches if one.lever == "device_prefetch"
    )
    assert ahead.on(tensorflow).pipeline == "tf_data", (
        "images that stay on the GPU are uploaded for its sake alone"
    )
    alone = plain_trial("torch", "cnn10", **FIELDS, pipeline="processes", workers=1, augment=True)
    assert reasons(alone)["loader_order"] == "one worker has one order only"
    names = ("pipeline", "loader_order", "loader_context", "loader_persistent")
    assert not {*names} & set(found()), "images in memory need no loader"
    assert all("pipeline=generator" in reasons()[name] for name in names), "and it is said what has one"
    tf_data = plain_trial("tensorflow", "cnn10", **FIELDS, pipeline="generator", augment=True)
    assert found(tf_data)["private_threads"] == ["on"]


def test_what_a_loader_has_already_is_measured_only_beside_such_a_loader():
    """Beside a generator, workers that start again in each epoch would be measured with the workers themselves."""
    loader = {"pipeline": "processes", "workers": 3, "augment": True}
    (own,) = (
        one
        for one in candidates(plain_trial("torch", "cnn10", **FIELDS, **loader), "cpu", cores=4).own
        if one.lever == "loader_persistent"
    )
    assert own.value == "off" and not own.fields
    generator = plain_trial("torch", "cnn10", **FIELDS, pipeline="generator", augment=True)
    assert reasons(generator)["loader_persistent"] == "a plain trial needs pipeline=processes for it"
