"""The optimizer of the code to paste is the one that was measured."""

import ast

import pytest

from program_text import trial_of
from trainspeed.core.optimizers import recipe
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.snippets.code import program_of

MODELS = {
    "wrn28_10": ("SGD", {"momentum": 0.9}),
    "cnn_keras": ("RMSprop", {"rho": 0.9, "epsilon": 1e-7}),
    "resnet50": ("Adam", {"epsilon": 1e-7}),
    "cnn10": ("Adam", {"epsilon": 1e-7}),
    "nets.py:build": ("Adam", {"epsilon": 1e-7}),
}
TORCH_NAMES = {"learning_rate": "lr", "rho": "alpha", "epsilon": "eps"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("model", MODELS)
def test_a_program_has_the_optimizer_and_the_numbers_that_were_measured(framework, model):
    """One line says both, so that nobody takes the speed-up for that of Adam."""
    name, numbers = MODELS[model]
    program = program_of(trial_of(framework, model=model, image_size=32))
    (made,) = (
        node.value
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "optimizer"
    )

    numbers = {"learning_rate": recipe(model).learning_rate, **numbers}
    if framework == "torch":
        numbers = {TORCH_NAMES.get(own, own): number for own, number in numbers.items()}
    assert ast.unparse(made.func).split(".")[-1] == name
    assert {one.arg: ast.literal_eval(one.value) for one in made.keywords} == numbers
    assert "# The optimizer that was measured: put yours." in program


def test_a_fused_optimizer_is_the_one_that_was_measured_fused():
    program = program_of(trial_of(model="wrn28_10", levers=["optimizer=fused"]))

    assert "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)\n" in program
