"""A torch training script as fast as it can be written by hand for a CPU. Prints the seconds of each epoch.

Further arguments: compiled has model and loss compiled, bf16 has them computed in bfloat16 by autocast.
"""

import sys
import time

import torch

from trainspeed.worker.data.sets import epoch_of, load_data_set
from trainspeed.worker.models.torch_models import build_torch

batch, count, epochs, size = map(int, sys.argv[1:5])
torch.manual_seed(0)
torch.set_flush_denormal(True)
x, y = epoch_of(load_data_set("digits", size), count, 0)
x = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
y = torch.from_numpy(y).long()
model = build_torch("cnn10").train().to(memory_format=torch.channels_last)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7, fused=True)


def loss_of(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled="bf16" in sys.argv[5:]):
        return torch.nn.functional.cross_entropy(model(images), labels)


loss_of = torch.compile(loss_of) if "compiled" in sys.argv[5:] else loss_of
for _ in range(epochs):
    started = time.perf_counter()
    for chosen in torch.randperm(count).split(batch):
        optimizer.zero_grad()
        loss_of(x[chosen], y[chosen]).backward()
        optimizer.step()
    print(time.perf_counter() - started, flush=True)
