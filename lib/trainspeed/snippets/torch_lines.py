"""What a torch program has for each lever. The places are those of `templates/torch.py.j2`."""

from __future__ import annotations

from trainspeed.snippets.lever_lines import Pasted

OPTIMIZERS = {"fused": "fused=True", "foreach": "foreach=True", "loop": "foreach=False"}

TORCH: Pasted = {
    "threads": lambda _: {
        "flags": "# PyTorch takes all cores by itself. Start it with: env -u OMP_NUM_THREADS python train.py"
    },
    "python_gc": lambda _: {
        "import": "import gc",
        "loop": "gc.collect()\ngc.disable()  # where memory grows: gc.collect() in each epoch",
    },
    "optimizer": lambda value: {"optimizer": OPTIMIZERS[value]},
}
