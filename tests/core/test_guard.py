"""What the guard that a report's kernels load does with a notebook's statements, before and after measuring."""

import ast
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from trainspeed.core import guard
from trainspeed.core.guard import GUARDED, Statements, arm, guarded


class Shell:
    """Stands in for IPython's: runs cells and notes what is shown."""

    def __init__(self):
        self.user_ns, self.user_ns_hidden = {}, {}
        self.ast_transformers = []
        self.execution_count = 0
        self.shown = []
        self.display_pub = SimpleNamespace(publish=lambda data: self.shown.append(data["text/plain"]))

    def showtraceback(self, raised, tb_offset):
        self.shown.append(raised[1])

    def run(self, cell):
        """Run a cell; what it would show is in `shown`."""
        self.execution_count += 1
        tree = ast.parse(cell)
        for transformer in self.ast_transformers:
            tree = transformer.visit(tree)
        exec(compile(tree, "cell", "exec"), self.user_ns)


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setattr(guard, "_state", guard._State())
    made = Shell()
    monkeypatch.setattr("IPython.display.display", made.shown.append)
    guard.load_ipython_extension(made)
    made.user_ns["show"] = made.shown.append
    return made


@pytest.fixture
def armed(shell):
    arm()
    return shell


def test_before_the_runs_are_in_the_ledger_an_exception_ends_the_notebook(shell):
    with pytest.raises(ZeroDivisionError):
        shell.run("1 / 0\nshow(2)")
    assert shell.shown == []


def test_without_a_report_an_exception_ends_the_cell_also_after_measuring(monkeypatch):
    """As in JupyterLab, where a reader runs the cells one by one."""
    monkeypatch.setattr(guard, "_state", guard._State())
    arm()
    with pytest.raises(ZeroDivisionError), guarded():
        raise ZeroDivisionError


def test_afterwards_the_exception_stands_in_its_place_and_the_cell_goes_on(armed):
    armed.run("show(1)\n1 / 0\nshow(2)")
    first, error, second = armed.shown
    assert (first, second) == (1, 2) and isinstance(error, ZeroDivisionError)


def test_a_cell_is_guarded_from_the_statement_behind_measuring(shell):
    shell.user_ns["measure"] = arm
    shell.run("measure()\n1 / 0\nshow(2)")
    assert shell.shown[1:] == [2]


def test_the_value_of_the_last_expression_is_shown(armed):
    armed.run("a = 3\na + 1")
    assert armed.shown == [4]


@pytest.mark.parametrize(
    "cell", ["for i in (0, 1):\n    1 / i\n    show(i)", "if True:\n    1 / 0\n    show(1)"]
)
def test_statements_within_a_loop_or_a_condition_are_guarded_one_by_one(armed, cell):
    armed.run(cell)
    assert isinstance(armed.shown[0], ZeroDivisionError) and armed.shown[-1] == 1


def test_a_try_of_the_notebook_catches_its_own(armed):
    armed.run("try:\n    1 / 0\nexcept ZeroDivisionError:\n    show('caught')")
    assert armed.shown == ["caught"]


def test_what_needs_a_value_that_failed_says_so_once_in_each_cell_and_is_no_second_failure(armed):
    armed.run("costs = 1 / 0")
    armed.run("rows = costs + 1\nshow(rows)\nshow(costs)")
    armed.run("show(rows)\nshow('others')")

    error, *others = armed.shown
    missing = "Not shown, as this failed above: ZeroDivisionError: division by zero"
    assert isinstance(error, ZeroDivisionError)
    assert others == [missing, missing, "others"]


def test_below_the_failure_in_its_own_cell_nothing_more_is_said(armed):
    armed.run("costs = 1 / 0\nshow(costs)\nshow('others')")
    assert armed.shown[1:] == ["others"]


def test_no_older_value_is_shown_for_one_that_failed(armed):
    armed.run("a = b = 1\nfor c in (1, 2):\n    pass")
    armed.run("a, b = 1 / 0\nfor c in 1 / 0:\n    show(c)")
    assert not {"a", "b", "c"} & set(armed.user_ns)


def test_a_name_within_a_comprehension_is_not_lost_with_it(armed):
    armed.run("v = 1")
    armed.run("w = [1 / v for v in (0,)]\nshow(v)")
    assert armed.shown[1:] == [1]


def test_a_name_that_nothing_set_is_a_failure_of_its_own(armed):
    armed.run("nowhere")
    assert isinstance(armed.shown[0], NameError)


def test_an_import_that_fails_is_what_its_names_miss(armed):
    armed.run("import nowhere.at_all\nfrom nowhere import a as b")
    armed.run("nowhere.f()\nb()")
    assert [type(shown) for shown in armed.shown] == [ModuleNotFoundError, ModuleNotFoundError, str]


def test_ctrl_c_still_ends_the_notebook(armed):
    with pytest.raises(KeyboardInterrupt):
        armed.run("raise KeyboardInterrupt")


def test_a_half_drawn_figure_is_not_left_open(armed):
    """The inline backend would show it at the end of the cell, without a description."""
    armed.user_ns["plt"] = plt
    armed.run("plt.figure()\n1 / 0")
    assert plt.get_fignums() == []


def test_every_statement_of_a_cell_is_in_a_guard():
    tree = Statements().visit(ast.parse("a = 1\nimport b\nif a:\n    c()\nfor d in e:\n    f()\ng()"))
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.With)]
    assert all(guard.items[0].context_expr.func.id == GUARDED for guard in guards)
    assert len(guards) == 7
