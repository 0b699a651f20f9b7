"""A plain training script with timm: what a user would write. Prints the seconds of each epoch."""

import os
import sys
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import timm
import torch
from torch.nn.functional import cross_entropy, interpolate

from trainspeed.worker.data.folds import fold_of
from trainspeed.worker.data.sets import epoch_of, load_data_set

batch, count, epochs, size = map(int, sys.argv[1:])
torch.set_num_threads(1)
torch.manual_seed(0)
x, y = epoch_of(fold_of(load_data_set("digits", None), 5, 0), count, 0)
x, y = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(y).long()
model = timm.create_model("resnet50", num_classes=10, drop_rate=0.15).train()
model = model.to(memory_format=torch.channels_last)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=1e-7)
for _ in range(epochs):
    started = time.perf_counter()
    for chosen in torch.randperm(count).split(batch):
        images = interpolate(x[chosen].expand(-1, 3, -1, -1), (size, size), mode="bilinear")
        images = images.contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad()
        cross_entropy(model(images), y[chosen]).backward()
        optimizer.step()
    print(time.perf_counter() - started, flush=True)
