"""No name of a user, a machine or a folder in what is shared: by the rules, and in whole reports."""

import getpass
import re
import socket
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tiny_notebooks import write
from trainspeed.core.paths import ROOT
from trainspeed.core.scrub import GENERIC, LOOPBACK, MIN_NAME_LETTERS, WORD, scrub_all, scrubber
from trainspeed.report.run import report

# What no file of a report may hold, whoever's machine made it.
ANYONES = r"(?<![\w./~-])/(home|Users|root)(?![\w-])|\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b"
IMAGE = re.compile(r"(?<=base64,)[A-Za-z0-9+/=]+|\"image/png\": \"[^\"]+\"")
SHARED = (".html", ".ipynb", ".json", ".jsonl", ".csv")
PRINTS = """
import os, warnings
from IPython.display import HTML, display
print(os.path.expanduser('~/data'), os.getcwd(), os.environ['LOGNAME'], os.environ['PLANTED'])
warnings.warn('from ' + os.path.expanduser('~/.cache'))
display(HTML('<table><tr><td>' + os.environ['TRAINSPEED_OUT'] + '</td></tr></table>'))
"""
RAISES = "open(os.path.expanduser('~/weights.h5'))"

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


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("WORKHORSE, Alice and workhorse-1", "host, user and host-1"),
        ("alice_tmp, /tmp/pip-alice/x, /media/alice-data/x", "user_tmp, /tmp/pip-user/x, /media/user-data/x"),
        ("x=%2Fhome%2Falice%2Fx", "x=%2Fhome%2Fuser%2Fx"),
        ("malice, alices, workhorses, workhorse2", "malice, alices, workhorses, workhorse2"),
    ],
)
def test_a_telling_name_goes_in_any_case_and_with_what_is_hung_on_it(text, scrubbed):
    names = {"alice": "user", "workhorse": "host"}
    made = scrubber(root=Path("/r"), home=Path("/h"), names=names, own_words=["the layout test"])

    assert made(text) == scrubbed


def test_a_name_that_may_be_another_word_goes_only_where_it_stands_alone_or_in_a_path():
    """Adam is an optimizer and H100 a GPU, NVIDIA makes it; "batch" and "test" are parts of words of the notebooks."""
    names = dict.fromkeys(["adam", "batch", "test"], "user") | dict.fromkeys(["h100", "nvidia"], "host")
    words = ["batch_size = 8", "test_accuracy"]
    made = scrubber(root=Path("/r"), home=Path("/h"), names=names, own_words=words)

    text = "Adam on an NVIDIA H100, adam-like, h100_x, Batch of batch_size, tests/test_batch.py, /x/my-test"
    assert made(text) == text
    assert made("adam@h100: /tmp/pip-adam/x on nvidia") == "user@host: /tmp/pip-user/x on host"
    # Without a text to tell what is a word, nothing is a telling name.
    assert scrubber(root=Path("/r"), home=Path("/h"), names={"model": "user"})("model_size") == "model_size"


def test_a_host_of_two_letters_goes_from_addresses_alone():
    made = scrubber(root=Path("/r"), home=Path("/h"), names={"tf": "host"})

    assert made("http://tf:8888/lab, ada@tf, tcp://tf.example") == (
        "http://host:8888/lab, ada@host, tcp://host.example"
    )
    code = "@tf.function, tf.keras, a//tf, https://tfhub.dev"
    assert made(code) == code


def test_other_machines_that_took_part_are_addresses_by_whatever_name():
    text = "Read error [10.0.0.6]:45244: reset; 10.0.0.6 and [gpu-18.example]:4000, cuDNN 10.0.0.61, x[1]"

    assert scrub(text, addresses=["10.0.0.5", "10.0.0.6"]) == (
        "Read error address: reset; address and address, cuDNN 10.0.0.61, x[1]"
    )
    assert scrub(text) == text == scrub(text, addresses=["127.0.0.1"])


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


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("/scratch/ada", "in $TMPDIR/x.so, not /scratch/adam"),
        ("/r", "in /scratch/ada/x.so, not /scratch/adam"),
        ("/scratch", "in $TMPDIR/ada/x.so, not $TMPDIR/adam"),
    ],
)
def test_the_users_own_folder_of_temporary_files_is_no_path(monkeypatch, folder, said):
    monkeypatch.setattr("tempfile.gettempdir", lambda: folder)
    made = scrubber(root=Path("/r"), home=Path("/h"), names={})

    assert made("in /scratch/ada/x.so, not /scratch/adam") == said
    assert made("/r/lib") == "./lib"


@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp", "/dev/shm"])
def test_a_folder_of_temporary_files_that_every_machine_has_stays(monkeypatch, folder):
    monkeypatch.setattr("tempfile.gettempdir", lambda: folder)

    assert scrubber(root=Path("/r"), home=Path("/h"), names={})(f"{folder} is full") == f"{folder} is full"


def test_a_home_folder_at_the_top_hides_nothing():
    assert scrubber(root=Path("/r"), home=Path("/"), names={})("/usr/lib") == "/usr/lib"


def test_the_machines_own_addresses_are_names_too(monkeypatch):
    """Another machine's addresses say nothing about this one, and versions look like addresses."""
    plant(monkeypatch)
    made = scrubber(root=Path("/r"), home=Path("/h"))

    assert made("refused by 10.11.12.13:29500") == "refused by address:29500"
    assert made("52:54:00:12:34:56 fe80::5054:ff:fe12:3456") == "address address"
    assert made("[fe80::5054:FF:fe12:3456%eth0]:80, http://[fe80::5054:ff:fe12:3456%25eth0.7]/x") == (
        "[address]:80, http://[address]/x"
    )
    assert made("127.0.0.1, 5.0.0.93, 110.11.12.13") == "127.0.0.1, 5.0.0.93, 110.11.12.13"
    assert made("adalovelace@gpu-17: gpu-17.example.org") == "user@host: host"


def plant(monkeypatch):
    """Give the machine and its user names, as the scrubber sees them; return them."""
    addresses = ["127.0.0.1", "10.11.12.13", "52:54:00:12:34:56", "fe80::5054:ff:fe12:3456%eth0"]
    listed = {"eth0": [SimpleNamespace(address=address) for address in addresses]}
    monkeypatch.setattr("psutil.net_if_addrs", lambda: listed)
    monkeypatch.setattr("socket.gethostname", lambda: "gpu-17.example.org")
    monkeypatch.setenv("LOGNAME", "adalovelace")
    return ["gpu-17", "adalovelace", "10.11.12.13", "52:54:00:12:34:56", "fe80::5054:ff:fe12:3456"]


def leaks(folder, pattern):
    """Return "file: text" for every match in the shared files of a report."""
    leaked = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SHARED):
        text = IMAGE.sub("", path.read_text(encoding="utf-8"))
        leaked += [f"{path.name}: {match[0]}" for match in re.finditer(pattern, text)]
    return leaked


def any_of(*names):
    return "|".join(rf"(?<![\w.-]){re.escape(name)}(?![\w-])" for name in names)


def own_names():
    """Return what names this machine, its user and their folders, except words that the notebooks use."""
    names = {socket.gethostname(), socket.gethostname().partition(".")[0], getpass.getuser()} - GENERIC
    names -= {word for path in ROOT.glob("notebooks/*.ipynb") for word in WORD.findall(path.read_text())}
    addresses = {
        entry.address.partition("%")[0] for listed in psutil.net_if_addrs().values() for entry in listed
    }
    folders = {str(folder) for folder in (Path.home(), ROOT) if folder != Path("/")}
    addresses = {address for address in addresses if address and not LOOPBACK.fullmatch(address)}
    return {name for name in names if len(name) >= MIN_NAME_LETTERS} | addresses | folders


@pytest.mark.slow
def test_a_report_names_no_user_no_machine_and_no_folder(report_folder):
    names = own_names() | {str(report_folder), str(report_folder.parent)}

    assert leaks(report_folder, any_of(*names)) == []
    assert leaks(report_folder, ANYONES) == []
    assert len([path for path in report_folder.rglob("*") if path.suffix in SHARED]) >= 5


def test_recorded_runs_name_nobody():
    for folder in (ROOT / "data/measured").glob("*/"):
        assert leaks(folder, ANYONES) == []
        assert leaks(folder, any_of(*own_names())) == []


@pytest.mark.slow
def test_what_a_notebook_prints_about_the_machine_is_not_in_its_report(tmp_path, monkeypatch):
    """Real kernels print it, warn of it, display it and raise it."""
    names = plant(monkeypatch)
    home = tmp_path / "home/adalovelace"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PLANTED", " ".join(names))
    folder, out = home / "project/notebooks", home / "reports/mine"
    write(folder, "layout", PRINTS, "never_seen = 1")
    write(folder, "amp", PRINTS, RAISES)
    (folder / "presets").mkdir()
    (folder / "presets/quick.yaml").write_text("")

    assert report(out=out, folder=folder) == 1

    printed = (out / "layout.html").read_text()
    assert "~/data" in printed and " user host user address address" in printed
    assert "No such file or directory: &#39;~/weights.h5" in (out / "amp.html").read_text().replace(
        "'", "&#39;"
    )
    assert leaks(out, any_of(*names, str(home), str(out), str(folder))) == []
    (out / "runs.jsonl").write_text(f'{{"reason": "no {home}/data on gpu-17"}}')
    (out / "late.html").write_text("<p>52:54:00:12:34:56 /home/someone/x")
    assert leaks(out, any_of(*names, str(home))) == [
        "late.html: 52:54:00:12:34:56",
        f"runs.jsonl: {home}",
        "runs.jsonl: gpu-17",
    ]
    assert leaks(out, ANYONES) == ["late.html: 52:54:00:12:34:56", "late.html: /home"]
