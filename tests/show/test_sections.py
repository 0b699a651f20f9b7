"""What a section shows beside its chart: of what is drawn, and of nothing else."""

import pytest

from study_data import control_runs, layout_pair
from trainspeed.judge.comparison import compare, controls
from trainspeed.show import sections


def judged(*runs):
    several = [run for some in runs for run in some]
    return compare(several, "layout", "channels_first", "channels_last", question="Does it?")


SURE, FEW = layout_pair([1.3] * 6), layout_pair([1.5], batch_size=64)


@pytest.fixture
def shown(monkeypatch):
    """A function that calls a section, and returns the title of its chart and what is written beside it."""

    def call(section, *verdicts):
        said, titles = [], []
        monkeypatch.setattr(sections, "display", lambda one, **_: said.append(str(one.data)))
        monkeypatch.setattr(sections, "show", lambda ax, alt: titles.append(ax.figure.get_suptitle()))
        section(*verdicts, alt="a chart")
        (title,) = titles
        return " ".join(title.split()), " ".join(said)

    return call


def test_the_title_of_an_answers_chart_counts_what_is_drawn(shown):
    title, said = shown(sections.answer, judged(SURE, FEW), [])

    assert title == "channels_last vs channels_first: faster"
    assert "hollow" not in said and "a first look" in said and "1.50x" in said


@pytest.mark.parametrize(
    ("verdicts", "control"),
    [(judged(FEW), []), (judged(SURE), controls(control_runs([1.0])))],
    ids=["no interval at all", "a control of one block"],
)
def test_a_hollow_mark_is_explained_where_one_is_drawn(shown, verdicts, control):
    assert "a hollow mark has too few blocks for one. Inside" in shown(sections.answer, verdicts, control)[1]


def test_controls_are_explained_only_where_there_is_one(shown):
    assert "controls" not in shown(sections.answer, judged(SURE), [])[1]
    assert "The controls are" in shown(sections.answer, judged(SURE), controls(control_runs([1.0] * 6)))[1]


def test_speedups_explain_a_hollow_mark_only_where_one_is_drawn(shown):
    assert "hollow" not in shown(sections.speedups, judged(SURE))[1]
    assert "hollow" in shown(sections.speedups, judged(SURE, FEW))[1]
