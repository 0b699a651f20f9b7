"""What several files of tests of reports share."""

import pytest


@pytest.fixture
def file(tmp_path):
    def written(text):
        path = tmp_path / "fleet.yaml"
        path.write_text(text)
        return path

    return written
