import pytest

from trainspeed.conduct.cluster import credentials
from trainspeed.conduct.cluster.credentials import (
    make_token,
    remember_head,
    remembered_head,
    token_path,
    token_variables,
)
from trainspeed.core.errors import UserError


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setattr(credentials, "FOLDER", tmp_path / "folder")
    for name in (credentials.TEXT_VARIABLE, credentials.PATH_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def test_a_head_makes_a_token_once_for_its_user_alone():
    make_token()
    text = token_path().read_text()
    assert len(text) == credentials.HEX_DIGITS and int(text, 16)
    assert token_path().stat().st_mode & 0o777 == 0o600
    assert token_path().parent.stat().st_mode & 0o777 == 0o700
    make_token()
    assert token_path().read_text() == text


def test_everything_of_a_fleet_demands_the_token():
    make_token()
    assert token_variables() == {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token_path())}


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_without_a_token_one_line_says_where_it_comes_from(text):
    if text is not None:
        token_path().parent.mkdir()
        token_path().write_text(text)
    with pytest.raises(UserError, match=r"no token in .*: copy the head's to here, mode 600"):
        token_variables()


def test_a_token_that_others_can_read_is_refused():
    make_token()
    token_path().chmod(0o644)
    with pytest.raises(UserError, match=r"others can read the token in .*: chmod 600"):
        token_variables()


def test_a_token_in_the_environment_comes_first(monkeypatch):
    monkeypatch.setenv(credentials.TEXT_VARIABLE, "from a secret")
    make_token()
    assert not token_path().exists()
    assert token_variables() == {"RAY_AUTH_MODE": "token"}


def test_the_last_node_of_a_machine_tells_where_the_head_is():
    with pytest.raises(UserError, match=r"no HEAD: name it, HEAD=10.0.0.5"):
        remembered_head()
    remember_head("10.0.0.5:6379")
    assert remembered_head() == "10.0.0.5:6379"
