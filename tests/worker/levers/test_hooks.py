"""Every lever has a hook in each framework that its entry names."""

from __future__ import annotations

import json

import pytest

from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.trial import FRAMEWORKS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hooks(shared_worker, tmp_path_factory):
    """The names of the hooks of every installed framework, from its own environment."""
    files = shared_worker.probed("probes.hooks_probe", tmp_path_factory.mktemp("probe"), ".json")
    return {framework: {*json.loads(file.read_text())} for framework, file in files.items()}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_lever_of_a_framework_has_a_hook_there(hooks, framework):
    """Else its runs end as unsupported, as if the framework lacked it. A field of a trial needs no hook."""
    if framework not in hooks:
        pytest.skip(f"{framework} is not installed here")
    named = {lever.name for lever in LEVERS.values() if framework in lever.frameworks and not lever.of_field}

    assert named - hooks[framework] == set(), "add it to the HOOKS of a module of worker/levers/"
    assert hooks[framework] <= LEVERS.keys(), "a hook without an entry in core/levers/ does nothing"
