"""A plain script for torchrun: what a user would write. Rank 0 prints the seconds of each epoch."""

import os
import sys
import time

rank, ranks = int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-ranks:][rank]})

import torch
from torch.nn.parallel import DistributedDataParallel

from trainspeed.worker.data.sets import epoch_of, load_data_set
from trainspeed.worker.models.torch_models import build_torch

batch, count, epochs, size = map(int, sys.argv[1:])
torch.set_num_threads(1)
torch.manual_seed(0)
torch.distributed.init_process_group("gloo")
x, y = epoch_of(load_data_set("digits", size), count, 0)
x, y = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(y).long()
model = DistributedDataParallel(build_torch("cnn10").train())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7)
for _ in range(epochs):
    torch.distributed.barrier()
    started = time.perf_counter()
    for chosen in torch.randperm(count).split(batch):
        mine = chosen.chunk(ranks)[rank]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[mine]), y[mine]).backward()
        optimizer.step()
    torch.distributed.barrier()
    if rank == 0:
        print(time.perf_counter() - started, flush=True)
torch.distributed.destroy_process_group()
