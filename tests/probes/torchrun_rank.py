"""One rank under torchrun: `torchrun --nproc-per-node 2 tests/probes/torchrun_rank.py TRIAL.json`."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch import distributed

from trainspeed.core.trial import Trial
from trainspeed.worker.backends.torch_backend import BACKEND
from trainspeed.worker.data.folds import data_set_of, images_of

if __name__ == "__main__":
    trial = Trial.from_dict(json.loads(Path(sys.argv[1]).read_text()))
    images = images_of(replace(trial, dataset=data_set_of(trial)))
    device = "gpu" if torch.cuda.is_available() else "cpu"
    training = BACKEND.start(trial, images, device=device, default_allocation=False)
    epoch_s = training.train()
    if os.environ["RANK"] == "0":
        print(json.dumps({"epoch_s": epoch_s, "final_loss": training.final_loss}))
    distributed.destroy_process_group()
