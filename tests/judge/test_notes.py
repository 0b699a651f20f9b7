"""Each note has words, and the words that schema 1 stored are read back as the note."""

import pytest

from trainspeed.core import ledger_schema1, notes
from trainspeed.core.notes import OtherNote
from trainspeed.judge.notes import EpochsDrifted, EpochsShort, StepsSkipped, text

STORED = [
    notes.GpuBusy(gpu=1, load_percent=37.0),
    notes.GpuMemoryHeld(gpu=0, held_bytes=20.5e9),
    notes.CoresBusy(cores=2.5),
    notes.CpuTimeStolen(share=0.1),
    notes.LossNotFinite(loss="nan"),
    notes.NotInspected(error="KeyError", message="no such layer: 'x'"),
    notes.ConvolutionsNotSeen(error="RuntimeError"),
    notes.PrecisionNotAsked(asked=("bfloat16", "float32"), ran=("float32",)),
    notes.OtherNote(text="A sentence of long ago."),
]
DERIVED = [StepsSkipped(skipped=6, steps=8), EpochsDrifted(), EpochsShort()]


@pytest.mark.parametrize("note", [*STORED, *DERIVED], ids=lambda note: note.kind)
def test_every_note_has_words(note):
    assert len(text(note)) > 20
    assert all(str(value) in text(note) for value in note.subject if isinstance(value, str))


def test_every_kind_of_the_ledger_is_tested_here():
    assert {note.kind for note in STORED} == {kind.__struct_config__.tag for kind in notes.AnyNote.__args__}


@pytest.mark.parametrize("note", STORED, ids=lambda note: note.kind)
def test_the_sentences_of_schema_1_are_read_back_as_notes(note):
    assert ledger_schema1.note(text(note)) == note


def test_a_sentence_that_no_kind_has_keeps_its_words():
    assert ledger_schema1.note("GPU 7 sang.") == OtherNote(text="GPU 7 sang.")


def test_a_note_that_nobody_put_into_words_is_a_mistake():
    class Unworded(notes.Note, tag="unworded"):
        """Of a later Trainspeed."""

    with pytest.raises(TypeError, match="no words"):
        text(Unworded())
