from pathlib import Path

from trainspeed.scrub import scrub_all, scrubber

NAMES = {"ada": "user", "gpu-17": "host"}


def scrub(text, **options):
    made = scrubber(root=Path("/home/ada/trainspeed"), home=Path("/home/ada"), names=NAMES, **options)
    return made(text)


def test_folders_and_names_are_replaced():
    assert scrub("/home/ada/trainspeed/lib/x.py and /home/ada/.cache") == "./lib/x.py and ~/.cache"
    assert scrub("ada@gpu-17: gpu-17.example.org") == "user@host: host.example.org"
    assert scrub("/mnt/big/out/runs.csv", out=Path("/mnt/big/out")) == "out/runs.csv"


def test_longer_words_and_paths_that_hold_a_name_stay():
    assert scrub("Canada, adaptive, /data/home/ada2") == "Canada, adaptive, /data/home/ada2"


def test_a_name_that_is_a_word_of_the_notebook_stays():
    """A machine called "layout" must not turn the report's layouts into hosts."""
    made = scrubber(root=Path("/r"), home=Path("/h"), names={"layout": "host"}, own_words=["the layout test"])

    assert made("layout: faster") == "layout: faster"


def test_embedded_images_are_left_alone():
    """Base64 may hold "/home/ada" by chance."""
    image = 'src="data:image/png;base64,AAA/home/ada/BBB="'

    assert scrub(image) == image
    assert scrub_all({"image/png": "/home/ada", "text/plain": "/home/ada"}, scrub) == {
        "image/png": "/home/ada",
        "text/plain": "~",
    }


def test_the_temporary_file_of_a_cell_is_no_path(monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/tmp")

    assert scrub("/tmp/ipykernel_123/456.py:4: UserWarning") == "notebook cell:4: UserWarning"


def test_a_home_folder_at_the_top_hides_nothing():
    assert scrubber(root=Path("/r"), home=Path("/"), names={})("/usr/lib") == "/usr/lib"
