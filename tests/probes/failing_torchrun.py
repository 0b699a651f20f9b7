"""One rank under torchrun, as `trainspeed.worker.backends.torchrun`, with what `failing_ranks` plants."""

from probes import failing_ranks  # noqa: F401 - plants
from trainspeed.worker.backends.torchrun import main

if __name__ == "__main__":
    main()
