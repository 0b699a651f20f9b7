"""What a run is taken to have seen of a switch that is a field of its trial."""

import pytest

from study_data import make_run
from trainspeed.core.result import TF32_WORK, EffectivePrecision
from trainspeed.search.feasible import was_seen
from trainspeed.search.findings import Effect
from trainspeed.search.switch import Switch


@pytest.mark.parametrize(("asked", "effect"), [(True, Effect.UNKNOWN), (False, Effect.SEEN)])
def test_a_precision_is_seen_where_it_ran_and_not_where_the_layers_were_set_to_it(asked, effect):
    bf16 = Switch(lever="precision", value="bf16", fields=(("precision", "bf16"),))
    ran = EffectivePrecision(dtypes={"bfloat16": 9}, asked=asked)
    assert was_seen(bf16, make_run(precision="bf16", effective_precision=ran)) is effect


@pytest.mark.parametrize(
    ("work", "effect"),
    [(TF32_WORK, Effect.SEEN), (TF32_WORK[:1], Effect.UNSEEN), ((), Effect.UNSEEN), (None, Effect.SEEN)],
)
def test_tf32_is_seen_where_all_work_may_round_to_it(work, effect):
    """It has no dtype of its own; that nothing was recorded, as in older lines, is no evidence against it."""
    tf32 = Switch(lever="precision", value="tf32", fields=(("precision", "tf32"),))
    assert was_seen(tf32, make_run(precision="tf32", tf32=work)) is effect


FIELDS = dict.fromkeys(("devices", "strategy", "batch_size", "pipeline", "compile"), ("1", "looked up"))


@pytest.mark.parametrize(
    ("in_effect", "effect"),
    [
        ({}, Effect.SEEN),  # of an older ledger, which tells nothing of fields
        (FIELDS | {"compile": ("on", "model.jit_compile is True")}, Effect.SEEN),
        (FIELDS | {"compile": ("off", "model.jit_compile is False")}, Effect.UNSEEN),
        (FIELDS | {"compile": (None, "it failed")}, Effect.UNKNOWN),
        ({name: saw for name, saw in FIELDS.items() if name != "compile"}, Effect.UNKNOWN),
    ],
)
def test_a_field_is_seen_only_with_the_evidence_that_it_promises(in_effect, effect):
    """The page said "in effect" of a compiler beside "nothing else was recorded"."""
    compiled = Switch(lever="compile", value="on", fields=(("compile", True),))
    assert was_seen(compiled, make_run(compile=True, in_effect=in_effect)) is effect


@pytest.mark.parametrize(("alive", "effect"), [("2", Effect.SEEN), ("1", Effect.UNSEEN)])
def test_a_loader_with_fewer_workers_than_asked_for_is_not_in_effect(alive, effect):
    loader = Switch(lever="pipeline", value="processes", fields=(("pipeline", "processes"), ("workers", 2)))
    seen = FIELDS | {"pipeline": ("processes", "alive"), "workers": (alive, "alive")}

    assert was_seen(loader, make_run(in_effect=seen)) is effect


def test_what_comes_with_a_field_and_promises_nothing_needs_no_evidence():
    loader = Switch(
        lever="pipeline", value="threads", fields=(("pipeline", "threads"), ("workers", 2), ("queue", 9))
    )
    seen = FIELDS | {"pipeline": ("threads", "batches were made by Threads")}

    assert was_seen(loader, make_run(in_effect=seen)) is Effect.SEEN
