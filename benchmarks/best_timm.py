"""timm's ResNet-18 as fast as it can be trained by hand on a CPU. Prints the seconds of each epoch.

Further arguments: bf16 has model and loss computed in bfloat16 by autocast, compiled has model and loss compiled.
"""

import sys
import time

import timm
import torch

from trainspeed.worker.data.sets import epoch_of, load_data_set

batch, count, epochs, size = map(int, sys.argv[1:5])
switched_on = sys.argv[5:]
torch.manual_seed(0)
torch.set_flush_denormal(True)
x, y = epoch_of(load_data_set("digits", size), count, 0)
x = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
y = torch.from_numpy(y).long()
model = timm.create_model("resnet18", num_classes=10).train().to(memory_format=torch.channels_last)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=1e-7, fused=True)


def loss_of(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled="bf16" in switched_on):
        return torch.nn.functional.cross_entropy(model(images), labels)


loss_of = torch.compile(loss_of) if "compiled" in switched_on else loss_of
for _ in range(epochs):
    started = time.perf_counter()
    for chosen in torch.randperm(count).split(batch):
        optimizer.zero_grad()
        images = x[chosen].contiguous(memory_format=torch.channels_last)
        loss_of(images, y[chosen]).backward()
        optimizer.step()
    print(time.perf_counter() - started, flush=True)
