"""Names of the package: one public name for one thing, and none that only a sentence about it explains."""

import ast
import re
from collections import defaultdict
from functools import cache

from test_architecture import FRAMEWORKS, sources

# What every program begins with, and the modules of which each framework has its own: all fulfil one interface.
ENTRY_POINT = "main"
OF_A_FRAMEWORK = re.compile(rf"^(worker\.(?:backends|levers|pipelines|probes)\.)(?:{'|'.join(FRAMEWORKS)})_")
HOUSE_WORDS = {"told", "beside", "tried", "found", "stranger", "strangers"}
# As parameters, results of a search may be called so.
OF_PARAMETERS = HOUSE_WORDS - {"found"}
KEPT = {
    "core.result.built_beside",  # a field of the ledger
    "monitor.__main__.NOT_FOUND",  # as in HTTP: the file does not exist
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def body_of(source):
    """Return the statements of a source."""
    return ast.parse(source).body


def public(source):
    """Return the public functions and classes at the top of a source."""
    return [
        node
        for node in body_of(source)
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_")
    ]


def shared_names(modules):
    """Return name -> the interfaces or modules that define it, of each name that two of them do."""
    owners = defaultdict(set)
    for module, source in modules.items():
        for node in public(source):
            owners[node.name].add(OF_A_FRAMEWORK.sub(r"\1", module))
    return {name: own for name, own in owners.items() if len(own) > 1 and name != ENTRY_POINT}


def assigned(node):
    """Return the names that a statement assigns."""
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def house_names(module, body):
    """Return the public functions, classes, constants, fields and parameters of a body with a house word in them."""
    names = {(name, frozenset(HOUSE_WORDS)) for node in body for name in assigned(node)}
    inner = set()
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            names.add((node.name, frozenset(HOUSE_WORDS)))
        if isinstance(node, Function) and (not node.name.startswith("_") or node.name == "__init__"):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            names |= {(one.arg, frozenset(OF_PARAMETERS)) for one in every}
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            inner |= house_names(module, node.body)
    words = {
        (name, forbidden): set(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)) for name, forbidden in names
    }
    hits = {name for (name, bad), parts in words.items() if {part.lower() for part in parts} & bad}
    return inner | {f"{module}.{name}" for name in hits if not name.startswith("_")}


def test_no_two_public_functions_or_classes_have_one_name_unless_they_fulfil_one_interface():
    assert shared_names(sources()) == {}


def test_no_public_name_has_a_word_that_only_a_sentence_about_it_explains():
    hits = {hit for module, source in sources().items() for hit in house_names(module, body_of(source))}
    assert hits == KEPT
    assert not {module for module in sources() if HOUSE_WORDS & set(re.split(r"[._]", module))}


def test_the_checks_of_names_can_fail():
    pair = {"worker.probes.torch_probes": "def work(): 1", "worker.probes.jax_probes": "def work(): 2"}
    assert shared_names(pair | {"show.a": "def main(): 1", "show.b": "def main(): 2\ndef _c(): 3"}) == {}
    assert shared_names(pair | {"show.a": "def work(): 1"}) == {"work": {"worker.probes.probes", "show.a"}}
    source = "MOST_TOLD = 1\nclass Strangers:\n    found: int\n    def f(self, tried, found): ..."
    source += "\ndef _told(beside): ..."
    names = ("MOST_TOLD", "Strangers", "found", "tried")
    assert house_names("a", body_of(source)) == {f"a.{name}" for name in names}
