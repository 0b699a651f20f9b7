"""What the file of a user's model sets in the whole process."""

from __future__ import annotations

import pytest

from trainspeed.core.notes import SetByFile
from trainspeed.judge.doubts import note_sentence
from trainspeed.worker.models.file_settings import settings_watched

SETTINGS = {"threads()": 2, "eager()": False}


@pytest.mark.parametrize(
    ("model", "after", "noted"),
    [
        ("my.py:build", {"threads()": 1}, [SetByFile(setting="threads()", before="2", after="1")]),
        ("my.py:build", {}, []),
        ("cnn10", {"threads()": 1}, []),
    ],
)
def test_a_setting_that_a_users_file_changes_is_noted_with_both_values(model, after, noted):
    values = dict(SETTINGS)
    with settings_watched(model, lambda: dict(values)) as found:
        values |= after

    assert found == noted


def test_the_doubt_names_the_setting_and_says_what_becomes_of_a_switch_that_sets_the_same():
    sentence = note_sentence(SetByFile(setting="threads()", before="2", after="1"))

    assert "set threads() to 1, which was 2" in sentence
    assert "compared with itself" in sentence
