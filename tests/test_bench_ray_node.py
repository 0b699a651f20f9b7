"""What the benchmark of a node computes, on numbers alone: no node is started."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
ALONE_S = (0.100, 0.110, 0.105, 0.100, 0.120, 0.101)


@pytest.fixture
def ray_node(monkeypatch):
    """ray_node.py and what it imports, which are no package."""
    known = {*sys.modules}
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import ray_node

    yield ray_node
    for name in {*sys.modules} - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


@pytest.mark.parametrize(
    ("slower", "told"),
    [
        (1.0, "1.000 (1.000 to 1.000), 6 blocks | within 1 % | yes |"),
        (1.05, "0.952 (0.952 to 0.952), 6 blocks | within 1 % | NO |"),
    ],
)
def test_a_node_is_compared_with_both_runs_of_its_machine_alone(ray_node, slower, told):
    """The second one is faster by as much as the first is slower."""
    alone_s, again_s = [1.02 * s for s in ALONE_S], [s / 1.02 for s in ALONE_S]
    node, noise = ray_node.of_node(alone_s, again_s, [slower * s for s in ALONE_S])
    assert node == f"| torch: a machine measured alone / as a node of Ray, epoch time | {told}"
    assert noise.endswith("| 1.040 (1.040 to 1.040), 6 blocks | the resolution | |")


def test_one_node_that_differs_leaves_six_blocks_undecided(ray_node):
    node, _ = ray_node.of_node(ALONE_S, ALONE_S, [1.03 * ALONE_S[0], *ALONE_S[1:]])
    assert node.endswith("| undecided |")


def test_two_blocks_have_no_interval(ray_node):
    node, _ = ray_node.of_node(ALONE_S[:2], ALONE_S[:2], ALONE_S[:2])
    assert "1.000 (no interval), 2 blocks" in node and node.endswith("| undecided |")


@pytest.mark.parametrize(
    ("missing", "reason"),
    [("ray", "Ray is not installed: make setup-fleet"), ("torch", "torch is not installed: make setup")],
)
def test_without_what_it_needs_the_part_is_left_out_in_one_line(
    ray_node, monkeypatch, capsys, missing, reason
):
    monkeypatch.setattr(
        ray_node.importlib.util, "find_spec", lambda name: None if name == missing else object()
    )
    monkeypatch.setattr(ray_node, "find_interpreter", lambda name: None if name == missing else "python")
    assert ray_node.parts(None) == {}
    assert capsys.readouterr().err == f"bench: ray node is left out: {reason}.\n"
