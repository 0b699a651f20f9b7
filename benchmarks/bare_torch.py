"""A plain torch training script: what a user would write. Prints the seconds of each epoch.

Further arguments switch something on: fused, sync, threads.
"""

import os
import sys
import time

switched_on = sys.argv[5:]
if "threads" not in switched_on:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import torch

from trainspeed.worker.data.sets import epoch_of, load_data_set
from trainspeed.worker.models.torch_models import build_torch

batch, count, epochs, size = map(int, sys.argv[1:5])
torch.set_num_threads(len(os.sched_getaffinity(0)))
torch.manual_seed(0)
x, y = epoch_of(load_data_set("digits", size), count, 0)
x, y = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(y).long()
model = build_torch("cnn10").train()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7, fused="fused" in switched_on)
for _ in range(epochs):
    started = time.perf_counter()
    for chosen in torch.randperm(count).split(batch):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x[chosen]), y[chosen])
        loss.backward()
        optimizer.step()
        if "sync" in switched_on:
            loss.item()
    print(time.perf_counter() - started, flush=True)
