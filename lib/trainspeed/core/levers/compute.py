"""The levers of what is computed: optimizer, compiler, arithmetic, exchange of gradients, brakes. No framework."""

from __future__ import annotations

from trainspeed.core.levers.lever import ON, Lever

KERAS = ("tensorflow", "jax")
COMPILED = {"compile": (ON,)}

LEVERS = (
    Lever(
        name="optimizer",
        words="optimizer",
        frameworks=("torch",),
        values=("fused", "foreach", "loop"),
        valued={"fused": "fused optimizer", "foreach": "foreach optimizer", "loop": "optimizer in a loop"},
        default="a loop over the weights on a CPU, foreach on a GPU; never fused",
        missing=dict.fromkeys(KERAS, "Keras has one implementation of each optimizer"),
        evidence="the optimizer's own settings",
        source="torch/optim/optimizer.py, _default_to_fused_or_foreach",
    ),
)
