"""Ways to get shuffled, augmented batches to a model: the values of a trial's `pipeline`."""
