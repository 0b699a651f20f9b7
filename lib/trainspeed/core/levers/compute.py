"""The levers of what is computed: optimizer, compiler, arithmetic, exchange of gradients, brakes. No framework."""

from __future__ import annotations

from trainspeed.core.levers.lever import ON, Lever, Numbers

KERAS = ("tensorflow", "jax")
COMPILED = {"compile": (ON,)}
# Precisions that set a dtype or a switch of their own: with them, weights in bf16 would be something else.
OTHER_PRECISIONS = {"precision": ("fp32", "tf32", "fp16", "bf16")}

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
    Lever(
        name="pure_bf16",
        words="weights and images in bf16, no autocast",
        frameworks=KERAS,
        default="off: weights in 32 bits",
        numbers=Numbers.ROUNDING,
        conflicts=OTHER_PRECISIONS,
        evidence="dtypes of the weights and of their gradients",
        source="https://keras.io/api/mixed_precision/policy/",
    ),
)
