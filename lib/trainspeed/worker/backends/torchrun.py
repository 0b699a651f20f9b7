"""One rank under torchrun or srun, on one node or several, each with as many ranks as the others.

torchrun --nproc-per-node 2 -m trainspeed.worker.backends.torchrun TRIAL.json
srun --nodes 2 --ntasks-per-node 2 python -m trainspeed.worker.backends.torchrun TRIAL.json
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from torch import distributed


def main() -> None:
    """Be one rank: train the trial in a JSON file, and print the epochs' seconds on rank 0."""
    from trainspeed.core.trial import Trial
    from trainspeed.worker import torch_cuda
    from trainspeed.worker.backends.rank_variables import of_slurm
    from trainspeed.worker.backends.torch_backend import BACKEND
    from trainspeed.worker.data.folds import data_set_of, images_of
    from trainspeed.worker.timing import in_a_row

    os.environ.update(of_slurm(os.environ))
    trial = Trial.from_dict(json.loads(Path(sys.argv[1]).read_text()))
    images = images_of(replace(trial, dataset=data_set_of(trial)))
    device = "gpu" if torch_cuda.is_available() else "cpu"
    training = BACKEND.start(trial, images, device=device, default_allocation=False)
    epoch_s = training.train(in_a_row(trial.epochs))
    if os.environ["RANK"] == "0":
        print(json.dumps({"epoch_s": epoch_s, "final_loss": training.final_loss}))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
