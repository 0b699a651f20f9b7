"""Which line of an exception becomes the reason of a row."""

from trainspeed.worker.failures import first_line

OF_GRAPH = """Graph execution error:

Detected at node sequential/embedding/GatherV2 defined at (most recent call last):
  File "train.py", line 9, in <module>

  File "keras/src/layers/core/embedding.py", line 196, in call

indices[0,0] = 7 is not in [0, 3)
\t [[{{node sequential/embedding/GatherV2}}]] [Op:__inference_multi_step_on_iterator_822]"""


def test_of_an_error_in_tensorflows_graph_the_line_behind_the_places_tells():
    assert first_line(OF_GRAPH) == "indices[0,0] = 7 is not in [0, 3)"


UNSUPPORTED = """Graph execution error:

Detected at node AsString defined at (most recent call last):
<stack traces unavailable>
Detected unsupported operations when trying to compile graph f[_XlaMustCompile=true] on XLA_CPU_JIT: AsString
Stack trace for op definition:
File "train.py", line 3, in f

tf2xla conversion failed while converting f. Run with TF_DUMP_GRAPH_PREFIX=/path to dump the graph."""


def test_where_places_come_behind_the_reason_they_are_not_taken_for_it():
    assert first_line(UNSUPPORTED).startswith("Detected unsupported operations when trying to compile")


def test_else_the_first_line_tells_and_one_with_a_known_error_before_it():
    assert first_line("Graph execution error:") == "Graph execution error:"
    assert first_line("\n wrong shape\nmore") == "wrong shape"
    assert first_line("") == "no message"
    assert first_line(f"{OF_GRAPH}\nCUDA out of memory") == "CUDA out of memory"


def test_a_folder_of_temporary_files_is_no_part_of_it_even_where_the_line_is_cut(monkeypatch):
    """Cut within the path, it would be no path to whoever takes such out."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/scratch/ada/trainspeed-1")

    assert first_line("x" * 290 + " /scratch/ada/trainspeed-1/a.so") == "x" * 290 + " $TMPDIR/a"
