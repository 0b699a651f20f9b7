"""What a torch program has for each lever. The places are those of `templates/torch.py.j2`."""

from __future__ import annotations

from trainspeed.snippets.lever_lines import Pasted

OPTIMIZERS = {"fused": "fused=True", "foreach": "foreach=True", "loop": "foreach=False"}

TORCH: Pasted = {
    "optimizer": lambda value: {"optimizer": OPTIMIZERS[value]},
}
