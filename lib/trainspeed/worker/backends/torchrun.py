"""One rank under torchrun or srun, on one node or several, each with as many ranks as the others.

torchrun --nproc-per-node 2 -m trainspeed.worker.backends.torchrun TRIAL.json
srun --nodes 2 --ntasks-per-node 2 python -m trainspeed.worker.backends.torchrun TRIAL.json
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trainspeed.core.errors import UserError
from trainspeed.core.trial import Trial


def main() -> None:
    """Be one rank: train the trial in a JSON file, and print the epochs' seconds on rank 0; of a mistake, one line."""
    try:
        _train(_trial_in(sys.argv[1:]))
    except UserError as problem:
        raise SystemExit(f"trainspeed: {problem}") from None


def _trial_in(arguments: Sequence[str]) -> Trial:
    """Return the trial in the one file that the command names.

    Raises:
        UserError: There is none.
    """
    if len(arguments) != 1:
        raise UserError("name one file, with a trial as JSON: see docs/fleet.md.")
    try:
        return Trial.from_dict(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    except OSError as problem:
        raise UserError(f"cannot read {arguments[0]} ({problem.strerror}).") from None
    except (ValueError, TypeError) as problem:
        raise UserError(f"{arguments[0]} is no trial: {problem}") from None


def _train(trial: Trial) -> None:
    from torch import distributed

    from trainspeed.worker import torch_cuda
    from trainspeed.worker.backends.rank_variables import of_slurm
    from trainspeed.worker.backends.torch_backend import BACKEND
    from trainspeed.worker.data.folds import data_set_of, images_of
    from trainspeed.worker.timing import in_a_row

    os.environ.update(of_slurm(os.environ))
    images = images_of(replace(trial, dataset=data_set_of(trial)))
    device = "gpu" if torch_cuda.is_available() else "cpu"
    training = BACKEND.start(trial, images, device=device, default_allocation=False)
    epoch_s = training.train(in_a_row(trial.epochs))
    if os.environ["RANK"] == "0":
        print(json.dumps({"epoch_s": epoch_s, "final_loss": training.final_loss}))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
