"""The tables, by their cells: what is derived from the frame, and what replaces a missing value."""

import re

import pytest
from bs4 import BeautifulSoup

from showing_data import cells, failed_run, make_frame, make_run, rows
from study_data import make_trial
from trainspeed.core.format import MISSING, digits, fixed
from trainspeed.core.frame import to_frame
from trainspeed.core.levers.host import ALL_CORES, AS_SET
from trainspeed.show import tables
from trainspeed.show.cells import styled


@pytest.fixture(scope="module")
def frame():
    return make_frame()


class TestEveryTable:
    def test_the_html_is_the_same_each_time(self, frame):
        """A random id would make two reports of the same data differ."""
        first, second = (tables.results_table(frame).to_html() for _ in range(2))
        assert first == second and "T_results_" in first

    def test_two_captions_give_two_ids(self, frame):
        """Two tables of a kind in one report do not share their styles."""
        ids = {re.search(r"T_\w+", tables.results_table(frame, caption=c).to_html())[0] for c in ("a", "b")}
        assert len(ids) == 2

    def test_the_index_is_hidden_and_the_caption_is_there(self, frame):
        html = tables.largest_batch_table(frame).to_html()
        assert "<caption>Largest batch size by memory</caption>" in html and "row_heading" not in html

    def test_columns_of_numbers_are_set_to_the_right(self):
        """A cell is a number by what made it, not by its looks: "12" may be a name. A dash is neither."""
        rows = [
            {
                "name": "12",
                "size": 3,
                "time": digits(1.5),
                "share": fixed(50, 1, " %"),
                "none": MISSING,
                "mixed": 1,
            },
            {
                "name": "a",
                "size": 4,
                "time": MISSING,
                "share": fixed(5, 1, " %"),
                "none": MISSING,
                "mixed": "ok",
            },
        ]
        html = BeautifulSoup(styled(rows, "kind", "caption").to_html(), "html.parser")
        cells = [["number" in cell["class"] for cell in row("td")] for row in html.tbody("tr")]
        assert cells == [[False, True, True, True, False, False]] * 2

    def test_a_table_without_rows_has_its_headings(self):
        assert list(styled([], "kind", "caption", columns=("a", "b")).data) == ["a", "b"]

    def test_text_from_a_crash_is_escaped(self):
        """A reason such as <class 'MemoryError'> is shown, not swallowed as a tag."""
        html = tables.failures_table(to_frame([failed_run("crashed", "<class 'MemoryError'>")])).to_html()
        assert "&lt;class" in html

    def test_missing_columns_are_named(self, frame):
        with pytest.raises(ValueError, match="images_per_s"):
            tables.results_table(frame.drop(columns="images_per_s"))


class TestMachine:
    MACHINE = {  # noqa: RUF012
        "cpu": "AMD EPYC 9454",
        "cpu_flags": ["avx2", "avx512_bf16"],
        "cores": {"physical": 8, "logical": 16, "quota": 4.0},
        "device": "gpu",
        "memory_bytes": 128_000_000_000,
        "gpus": [
            {
                "name": "NVIDIA H200",
                "memory_bytes": 141e9,
                "power_limit_w": 700,
                "compute_capability": "9.0",
            },
            {"name": "NVIDIA T4", "memory_bytes": None, "power_limit_w": None, "compute_capability": "7.5"},
        ],
        "driver": None,
        "os": "Debian GNU/Linux 12",
        "container": True,
        "python": "3.11.2",
    }

    def test_parts_have_units_and_unknown_ones_a_dash(self):
        """None is "—", never 0."""
        table = {r["what"]: r["value"] for r in rows(tables.machine_table(self.MACHINE, {}))}
        assert table["memory"] == "128 GB"
        assert table["cores"] == "8 physical, 16 logical, limited to 4 at a time"
        assert table["CPU"] == "AMD EPYC 9454, avx2, avx512_bf16"
        assert table["NVIDIA driver"] == "—" and table["trained on"] == "GPU"
        assert table["system"] == "Debian GNU/Linux 12 (in a container)"

    @pytest.mark.parametrize(
        ("mode", "said"),
        [
            ("madvise", "for programs that ask for them"),
            ("never", "none"),
            (None, None),
        ],
    )
    def test_it_says_which_programs_have_huge_pages_where_that_was_recorded(self, mode, said):
        machine = self.MACHINE | {"huge_pages": mode}
        table = {r["what"]: r["value"] for r in rows(tables.machine_table(machine, {}))}
        assert table.get("huge pages") == said

    @pytest.mark.parametrize(
        ("variables", "said"),
        [
            ({"OMP_NUM_THREADS": "1", "TF_XLA_FLAGS": "-a -b"}, "OMP_NUM_THREADS=1, TF_XLA_FLAGS=-a -b"),
            ({}, None),
        ],
    )
    def test_it_says_what_a_user_had_set_in_the_environment(self, variables, said):
        machine = self.MACHINE | {"environment": variables}
        table = {r["what"]: r["value"] for r in rows(tables.machine_table(machine, {}))}
        assert table.get("environment variables") == said

    def test_without_a_gpu_the_table_gives_the_reason(self):
        """It has no rows about a driver, either."""
        machine = {"device": "cpu", "gpus": [], "no_gpus": "no NVIDIA driver library found"}
        table = {r["what"]: r["value"] for r in rows(tables.machine_table(machine, {}))}
        assert table["GPUs"] == "none: no NVIDIA driver library found"
        assert table["trained on"] == "CPU, one core per device" and "NVIDIA driver" not in table

    def test_of_a_cpu_it_says_how_much_of_it_trials_had(self):
        one, every, own = make_trial(), make_trial(levers=(ALL_CORES,)), make_trial(levers=(AS_SET,))
        said = {
            trials: cells(tables.machine_table({"device": "cpu"}, {}, trials), what="trained on")["value"]
            for trials in ((), (one,), (every,), (one, every), (own,), (own, one))
        }
        assert list(said.values()) == [
            "CPU, one core per device",
            "CPU, one core per device",
            "CPU, all cores",
            "CPU, all cores or one core per device, as each trial says",
            "CPU, as many threads as the environment sets",
            "CPU, as many threads as the environment sets or one core per device, as each trial says",
        ]
        assert cells(tables.machine_table(self.MACHINE, {}, (every,)), what="trained on")["value"] == "GPU"

    def test_each_kind_of_gpu_is_described(self):
        gpus = cells(tables.machine_table(self.MACHINE, {}), what="GPUs")["value"]
        first, second = gpus.split("; ")
        assert first == "1 × NVIDIA H200, 141 GB, 700 W at most, compute capability 9.0"
        assert second == "1 × NVIDIA T4, memory not known, power limit not known, compute capability 7.5"

    def test_versions_have_a_row_per_framework(self):
        """A framework that reported nothing has a dash."""
        table = tables.machine_table({}, {"torch": {"torch": "2.15.0"}, "jax": {}})
        assert cells(table, what="PyTorch")["value"] == "torch 2.15.0"
        assert cells(table, what="JAX")["value"] == "—"


class TestResults:
    def test_a_row_is_the_median_over_blocks(self, frame):
        """There are six blocks at batch 32; the control's second half is no data."""
        row = cells(
            tables.results_table(frame),
            framework="PyTorch",
            model="cnn10",
            layout="channels_first",
            batch="32",
        )
        runs = frame[(frame["label"] == "A")]
        assert row["blocks"] == "6" and row["status"] == "ok"
        assert row["median epoch s (after the first)"] == digits(runs["median_epoch_s"].median())
        assert list(row).index("median epoch s (after the first)") < list(row).index("first epoch s")
        assert row["first epoch s"] == digits(runs["first_epoch_s"].median())
        assert row["accuracy % after 5 epochs"] == f"{100 * runs['test_accuracy'].median():.1f}"
        assert row["images/s"] == digits(runs["images_per_s"].median())
        assert row["peak memory MB"] == digits(runs["peak_memory_bytes"].median() / 1e6)

    def test_its_caption_says_that_a_speedup_is_not_the_ratio_of_two_of_its_times(self, frame):
        """Of batch 8 in a noisy report the medians gave 0.99, the paired turns 0.91."""
        assert (
            "dividing or subtracting numbers of this table may give others"
            in tables.results_table(frame).caption
        )

    def test_a_projected_training_time_says_so(self, frame):
        """With 100 epochs the time is no projection."""
        short = tables.results_table(frame).data.columns
        assert "100 epochs, projected" in short
        full = make_run(epochs=100, epoch_s=(37.0, *[36.0] * 99))
        row = rows(tables.results_table(to_frame([full])))[0]
        assert row["training time"] == "1:00:01"

    def test_a_failure_keeps_its_row_with_the_reason(self, frame):
        """Nothing was measured, so there are only dashes and the reason."""
        row = cells(
            tables.results_table(frame),
            framework="TensorFlow",
            model="wrn28_2",
            layout="channels_first",
            batch="64",
        )
        assert row["status"] == "OOM: 12.1 GB asked for, 0.4 GB free"
        assert row["median epoch s (after the first)"] == row["images/s"] == row["peak memory MB"] == "—"
        assert row["blocks"] == "0"

    def test_what_is_not_supported_here_stands_below_what_was_measured(self):
        """On a CPU every second row was the same refusal."""
        runs = [
            failed_run("unsupported", "GPUs only", batch_size=4),
            make_run(batch_size=4, precision="bf16"),
            make_run(),
        ]
        table = rows(tables.results_table(to_frame(runs)))
        assert [row["status"] for row in table] == ["ok", "ok", "unsupported: GPUs only"]

    def test_what_is_not_supported_at_any_batch_size_is_one_row(self):
        """On a CPU five rows said that DataParallel is for GPUs."""
        sizes = [failed_run("unsupported", "GPUs only", batch_size=n, precision="bf16") for n in (4, 8, 16)]
        other = failed_run("unsupported", "no such arithmetic", batch_size=8, precision="fp16")
        table = rows(tables.results_table(to_frame([make_run(batch_size=8), *sizes, other])))
        assert [(row["batch"], row["status"]) for row in table] == [
            ("8", "ok"),
            ("4, 8 and 16", "unsupported: GPUs only"),
            ("8", "unsupported: no such arithmetic"),
        ]

    def test_a_block_that_failed_is_counted(self):
        """One timeout in three blocks leaves two blocks, and the status says so."""
        runs = [make_run(), make_run(block=1), failed_run("timeout", "longer than 300 s", block=2)]
        row = rows(tables.results_table(to_frame(runs)))[0]
        assert row["blocks"] == "2" and row["status"] == "ok. timeout in 1 of 3 blocks: longer than 300 s"

    def test_a_factor_that_varies_has_a_column(self):
        """Two precisions are two rows."""
        table = tables.results_table(to_frame([make_run(precision="bf16"), make_run(precision="fp32")]))
        assert [row["precision"] for row in rows(table)] == ["bf16", "fp32"]
        assert "precision" not in tables.results_table(to_frame([make_run()])).data

    def test_batch_sizes_are_in_numerical_order(self, frame):
        """8, 16, 32, 64 and not 16, 32, 64, 8."""
        assert [row["batch"] for row in rows(tables.results_table(frame))][:4] == ["8", "16", "32", "64"]

    def test_missing_accuracy_is_a_dash(self):
        row = rows(tables.results_table(to_frame([make_run(test_accuracy=None)])))[0]
        assert row["accuracy % after 5 epochs"] == "—"

    def test_rows_that_trained_for_other_numbers_of_epochs_say_for_how_many(self):
        """Turns take as many epochs as fill them, so that the trial's `epochs` are the least."""
        longer = {"batch_size": 64, "epoch_s": (3.0, *[1.0] * 9)}
        table = tables.results_table(to_frame([make_run(), make_run(**longer)]))
        assert list(table.data["epochs trained"]) == ["5", "10"]
        assert "accuracy %" in table.data
        alike = tables.results_table(to_frame([make_run(**longer)])).data
        assert "accuracy % after 10 epochs" in alike and "epochs trained" not in alike

    def test_an_accuracy_of_fewer_blocks_than_the_times_is_told_as_such(self):
        def caption(*accuracies):
            runs = [make_run(block=block, test_accuracy=value) for block, value in enumerate(accuracies)]
            return tables.results_table(to_frame(runs)).caption

        assert "Accuracy is that of a single run: it was taken in 1 block" in caption(0.858, None, None)
        assert "Accuracy was taken in 2 blocks" in caption(0.8, 0.9, None)
        assert "Accuracy" not in caption(0.8, 0.9) + caption(None, None)

    def test_a_named_data_set_is_in_the_heading_of_the_accuracy(self):
        """An accuracy on digits is not one on CIFAR-10."""
        table = tables.results_table(to_frame([make_run(dataset="digits")]))
        assert "accuracy % after 5 epochs on digits" in table.data
